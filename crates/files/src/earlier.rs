//! What is moved out of a new file's way: earlier files, and a file of lines that has grown large enough.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How many of them stay; the oldest goes.
pub const EARLIER_KEPT: usize = 9;

/// More of them in a row lead round in a circle.
const LINKS: usize = 40;

/// What earlier files are called, the newest first: `film.1.mp4`, `film.2.mp4` … for `film.mp4`, so that each still says its kind.
pub fn earlier_names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let (stem, ending) = (path.file_stem().unwrap_or_default(), path.extension());
    (1..=EARLIER_KEPT).map(move |number| {
        let mut name = stem.to_owned();
        name.push(format!(".{number}"));
        if let Some(ending) = ending {
            name.push(".");
            name.push(ending);
        }
        path.with_file_name(name)
    })
}

/// What a file of lines is called once a new one is begun: `poses.jsonl.1`.
pub fn rotated_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Where the file is, or will be, that `path` names: where `path` is a link that is to stay, what it leads to. One that leads to what has no
/// name, as `/dev/stdout` to a pipe, is followed no further.
pub fn followed(path: &Path) -> PathBuf {
    let mut at = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&at) {
            Ok(to) => {
                let next = at.parent().unwrap_or(Path::new("")).join(to);
                if fs::symlink_metadata(&next).is_err() && fs::metadata(&at).is_ok() {
                    return at;
                }
                at = next;
            }
            Err(_) => return at,
        }
    }
    path.to_owned()
}

/// Gives the file at `path` the first of its earlier names, and those before it the next, and says which it got; nothing where there
/// is no file, or nothing in it.
///
/// # Errors
/// One cannot be renamed, or a folder has its name.
pub(super) fn set_aside(path: &Path) -> io::Result<Option<PathBuf>> {
    if !fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > 0) {
        return Ok(None);
    }
    let names: Vec<_> = earlier_names(path).collect();
    // Those behind a free name stay as they are.
    let free = names.iter().position(|name| fs::symlink_metadata(name).is_err()).unwrap_or(EARLIER_KEPT - 1);
    for at in (0..free).rev() {
        fs::rename(&names[at], &names[at + 1])?;
    }
    fs::rename(path, &names[0])?;
    Ok(names.into_iter().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_files_move_on_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a film.mp4");
        assert_eq!(set_aside(&path).unwrap(), None);
        fs::write(&path, "").unwrap();
        assert_eq!(set_aside(&path).unwrap(), None, "nothing is lost with an empty file");
        for run in 0..12 {
            fs::write(&path, run.to_string()).unwrap();
            assert_eq!(set_aside(&path).unwrap(), Some(folder.path().join("a film.1.mp4")));
        }
        let held: Vec<_> = earlier_names(&path).map(|name| fs::read_to_string(name).unwrap()).collect();
        assert_eq!(held, ["11", "10", "9", "8", "7", "6", "5", "4", "3"]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), EARLIER_KEPT);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_to_what_need_not_be_there_yet() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("usb")).unwrap();
        symlink("other", at("link")).unwrap();
        symlink("usb/poses", at("other")).unwrap();
        symlink("round", at("round")).unwrap();
        assert_eq!(followed(&at("link")), at("usb/poses"));
        assert_eq!(followed(&at("usb")), at("usb"));
        assert_eq!(followed(&at("round")), at("round"));
        assert_eq!(followed(Path::new("no file of this name")), Path::new("no file of this name"));
    }

    #[test]
    fn what_stands_behind_a_free_name_stays_and_a_name_needs_no_ending() {
        let folder = tempfile::tempdir().unwrap();
        let [path, first, third] = ["poses", "poses.1", "poses.3"].map(|name| folder.path().join(name));
        for (path, held) in [(&path, "new"), (&first, "old"), (&third, "another's")] {
            fs::write(path, held).unwrap();
        }
        assert_eq!(set_aside(&path).unwrap(), Some(first.clone()));
        let held = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!(
            [held(&first), held(&folder.path().join("poses.2")), held(&third)],
            ["new", "old", "another's"]
        );
    }
}
