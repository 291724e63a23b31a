//! What the tests of every recurrent core need: a drawn weights file, the definition's pieces in double precision, and persons who
//! step together in any company.

use super::{
    Core, OUTPUTS, Observed,
    norm::NORM_EPSILON,
    weights::{Hyper, Weights, testing},
};

/// Named tensors of drawn values: name, shape, values.
pub struct Drawn {
    pub hyper: Hyper,
    pub tensors: Vec<(String, Vec<usize>, Vec<f32>)>,
    random: fastrand::Rng,
}

/// One person's observations, the time since the last one in nominal frames before each, and a core's answers.
pub type Told = (Vec<(f64, Vec<f64>)>, Vec<Vec<f64>>);

impl Drawn {
    pub fn new(hyper: Hyper, seed: u64) -> Self {
        Self { hyper, tensors: Vec::new(), random: fastrand::Rng::with_seed(seed) }
    }

    /// Values within `size` of `middle`.
    pub fn add(&mut self, name: &str, shape: &[usize], size: f32, middle: f32) {
        let values = (0..shape.iter().product()).map(|_| middle + size * (2.0 * self.random.f32() - 1.0));
        let values = values.collect();
        self.tensors.push((name.to_owned(), shape.to_vec(), values));
    }

    pub fn linear(&mut self, name: &str, outputs: usize, inputs: usize, size: f32) {
        self.add(&format!("{name}.weight"), &[outputs, inputs], size, 0.0);
        self.add(&format!("{name}.bias"), &[outputs], 0.3, 0.0);
    }

    pub fn norm(&mut self, name: &str, width: usize) {
        self.add(&format!("{name}.weight"), &[width], 0.3, 1.0);
        self.add(&format!("{name}.bias"), &[width], 0.3, 0.0);
    }

    pub fn file(&self) -> Vec<u8> {
        testing::write(&self.hyper, &self.tensors)
    }

    pub fn tensor(&self, name: &str) -> Vec<f64> {
        let found = self.tensors.iter().find(|(n, ..)| n == name).unwrap();
        found.2.iter().map(|&v| f64::from(v)).collect()
    }

    /// W x + b of `name.weight` and `name.bias`.
    pub fn product(&self, name: &str, x: &[f64]) -> Vec<f64> {
        self.product_of(&format!("{name}.weight"), &format!("{name}.bias"), x)
    }

    pub fn product_of(&self, weight: &str, bias: &str, x: &[f64]) -> Vec<f64> {
        let w = self.tensor(weight);
        let product = |row: &[f64]| row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        w.chunks_exact(x.len()).zip(self.tensor(bias)).map(|(row, b)| product(row) + b).collect()
    }

    pub fn normed(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / x.len() as f64;
        let root = (variance + f64::from(NORM_EPSILON)).sqrt();
        let (gain, bias) = (self.tensor(&format!("{name}.weight")), self.tensor(&format!("{name}.bias")));
        x.iter().zip(gain.iter().zip(&bias)).map(|(v, (g, b))| (v - mean) / root * g + b).collect()
    }
}

/// Each of `persons` is there in some of `steps` frames, at irregular times.
pub fn step<C: Core>(drawn: &Drawn, steps: usize, persons: usize) -> Vec<Told> {
    let mut random = drawn.random.clone();
    let file = drawn.file();
    let network = C::load(&Weights::open(&file).unwrap()).unwrap();
    let mut memories: Vec<C::Memory> = (0..persons).map(|_| network.memory()).collect();
    let (mut scratch, mut observed) = (network.scratch(), Observed::new());
    let mut answers = vec![[0.0; OUTPUTS]; persons];
    let mut told = vec![Told::default(); persons];
    for _ in 0..steps {
        let there = (0..persons).filter(|_| random.u8(..) < 160).collect::<Vec<_>>();
        let company: Vec<_> = there.into_iter().map(|p| (p, 0.3 + 4.0 * random.f32())).collect();
        for (i, &(p, dt)) in company.iter().enumerate() {
            let (features, bank) = (&mut observed.features[i], &mut observed.banks[i]);
            features.iter_mut().chain(&mut *bank).for_each(|v| *v = 2.0 * random.f32() - 1.0);
            let input = features.iter().chain(&*bank).map(|&v| f64::from(v)).collect();
            told[p].0.push((f64::from(dt), input));
        }
        network.step(&company, &observed, &mut memories, &mut scratch, &mut answers);
        for (answer, &(p, _)) in answers.iter().zip(&company) {
            told[p].1.push(answer.iter().map(|&v| f64::from(v)).collect());
        }
    }
    told
}

/// That every answer is the definition's.
pub fn near(got: &[Vec<f64>], want: &[Vec<f64>]) {
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().flatten().zip(want.iter().flatten()) {
        assert!((got - want).abs() < 1e-4, "{got} {want}");
    }
}

/// That a memory which was forgotten answers as an empty one.
pub fn forgets<C: Core>(drawn: &Drawn) {
    let network = C::load(&Weights::open(&drawn.file()).unwrap()).unwrap();
    let mut scratch = network.scratch();
    let mut step = |memories: &mut [C::Memory; 1]| {
        let mut answers = [[0.0; OUTPUTS]];
        network.step(&[(0, 1.0)], &Observed::new(), memories, &mut scratch, &mut answers);
        answers[0]
    };
    let mut memories = [network.memory()];
    let first = step(&mut memories);
    assert_ne!(step(&mut memories), first, "it remembers");
    C::forget(&mut memories[0]);
    assert_eq!(step(&mut memories), first);
}
