//! Tells systemd how the tracker is (`Type=notify`, `WatchdogSec=`).

use posewire::pipeline::supervisor::{NoNotify, Notify};

/// The service manager that started this process, if one did.
pub fn service_manager() -> Box<dyn Notify> {
    #[cfg(target_os = "linux")]
    if std::env::var_os("NOTIFY_SOCKET").is_some() {
        return Box::new(systemd::Systemd);
    }
    Box::new(NoNotify)
}

#[cfg(target_os = "linux")]
mod systemd {
    use posewire::pipeline::supervisor::Notify;
    use posewire::telemetry::Health;
    use sd_notify::NotifyState;

    pub struct Systemd;

    fn tell(states: &[NotifyState<'_>]) {
        // The manager may be restarting; the watchdog is its business, and the next call is a second away.
        if let Err(error) = sd_notify::notify(states) {
            log::debug!("systemd cannot be told: {error}");
        }
    }

    impl Notify for Systemd {
        fn ready(&mut self) {
            tell(&[NotifyState::Ready]);
        }

        fn alive(&mut self, health: &Health) {
            tell(&[NotifyState::Watchdog, NotifyState::Status(&health.to_string())]);
        }

        fn stopping(&mut self) {
            tell(&[NotifyState::Stopping]);
        }
    }
}
