//! What is compared: networks, smoothers and rules of identity, a row of the tables each.

use anyhow::{Context, bail};
use posewire::config::{BUILTIN, MaxPersons};
use posewire::models::check_names;
use posewire::temporal::Smoother;
use posewire::track::IdentityRules;
use posewire::tracker::{Networks, temporal_model};
use posewire::{Config, Tracker};

use super::Args;

/// One row of the table.
#[derive(Clone)]
pub struct Setting {
    model: String,
    finder: String,
    smoother: Smoother,
    weights: String,
    rules: String,
    persons: MaxPersons,
}

/// Every combination; weights only where the smoother has some.
pub fn all(args: &Args) -> anyhow::Result<Vec<Setting>> {
    let persons = MaxPersons::new(args.max_persons);
    let persons =
        persons.with_context(|| format!("--max-persons {}: 1 to 8 can be followed", args.max_persons))?;
    let none = [String::new()];
    let every_rules = if args.rules.is_empty() { &none[..] } else { &args.rules[..] };
    let mut settings = Vec::new();
    let networks = args.model.iter().flat_map(|model| args.finder.iter().map(move |finder| (model, finder)));
    for (model, finder) in networks {
        for &smoother in &args.smoother {
            let all = if smoother.network().is_some() { &args.temporal[..] } else { &args.temporal[..1] };
            for weights in all {
                for rules in every_rules {
                    let [model, finder, weights, rules] = [model, finder, weights, rules].map(String::clone);
                    settings.push(Setting { model, finder, smoother, weights, rules, persons });
                }
            }
        }
    }
    Ok(settings)
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.model, self.smoother)?;
        if self.finder != BUILTIN {
            write!(f, ", persons by {}", self.finder)?;
        }
        if self.smoother.network().is_some() && self.weights != BUILTIN {
            write!(f, " of {}", self.weights)?;
        }
        if self.rules.is_empty() { Ok(()) } else { write!(f, ", {}", self.rules) }
    }
}

impl Setting {
    fn config(&self) -> Config {
        let mut config = Config::default();
        config.models.keypoints = self.model.as_str().into();
        config.models.finder = self.finder.as_str().into();
        config.models.temporal = self.weights.as_str().into();
        config.temporal.smoother = self.smoother;
        config.persons.max = self.persons;
        config
    }

    /// Says what there is not, before anything is measured.
    ///
    /// # Errors
    /// Networks or rules of names that nothing has.
    pub fn check(&self) -> anyhow::Result<()> {
        check_names(&self.config().models)?;
        with_rules(IdentityRules::of(false), &self.rules)?;
        Ok(())
    }

    /// # Errors
    /// Networks that cannot be loaded, or rules that there are none of.
    pub fn tracker(&self) -> anyhow::Result<Tracker> {
        let config = self.config();
        if self.rules.is_empty() {
            return Ok(Tracker::new(&config)?);
        }
        let networks = Networks::load(&config.models)?;
        let model = temporal_model(&config, networks.error_model.as_deref())?;
        let known = IdentityRules::of(networks.keypoints.tells_presence());
        let rules = IdentityRules { max_persons: config.persons.max.get(), ..known };
        Ok(Tracker::of_parts(networks, with_rules(rules, &self.rules)?, model)?)
    }
}

/// `rules` with some of them as `said`: NAME=VALUE, separated by commas.
fn with_rules(mut rules: IdentityRules, said: &str) -> anyhow::Result<IdentityRules> {
    for word in said.split(',').filter(|word| !word.is_empty()) {
        let (name, value) =
            word.split_once('=').with_context(|| format!("--rules {word}: NAME=VALUE is wanted"))?;
        let value: f32 = value.parse().with_context(|| format!("--rules {word}: {value} is no number"))?;
        let rule = match name {
            "min_score" => &mut rules.min_score,
            "newcomer_score" => &mut rules.newcomer_score,
            "sure_score" => &mut rules.sure_score,
            "kept_score" => &mut rules.kept_score,
            "within_score" => &mut rules.within_score,
            "unseen_score" => &mut rules.unseen_score,
            "edge_score" => &mut rules.edge_score,
            "told_ms" | "hidden_ms" | "silence_ms" | "forecast_ms" | "score_memory_ms" => {
                let rule = match name {
                    "told_ms" => &mut rules.told_us,
                    "hidden_ms" => &mut rules.hidden_us,
                    "silence_ms" => &mut rules.silence_us,
                    "forecast_ms" => &mut rules.forecast_us,
                    _ => &mut rules.score_memory_us,
                };
                *rule = (1000.0 * value) as i64;
                continue;
            }
            "clothes_share" => &mut rules.clothes_share,
            "unlike" => &mut rules.unlike,
            "alike" => &mut rules.alike,
            _ => bail!(
                "--rules {word}: there are min_score, newcomer_score, sure_score, kept_score, within_score, unseen_score, edge_score, \
                 told_ms, hidden_ms, silence_ms, forecast_ms, score_memory_ms, clothes_share, unlike and alike"
            ),
        };
        *rule = value;
    }
    Ok(rules)
}
