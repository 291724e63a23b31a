use super::*;

#[test]
fn what_stood_there_stays_until_the_new_one_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, "old").unwrap();
    let names = || fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect::<Vec<_>>();
    let mut new = Replacement::create(&path).unwrap();
    new.write_all(b"new").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names().len(), 2);
    drop(new);
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names().len()), ("old", 1));
    let mut new = Replacement::create(&path).unwrap();
    new.write_all(b"new").unwrap();
    new.commit().unwrap();
    drop(new);
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names().len()), ("new", 1));
    let mut newer = Replacement::create(&path).unwrap();
    newer.write_all(b"newer").unwrap();
    let kept = newer.keep().unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), "newer");
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names().len()), ("new", 2));
}

#[cfg(unix)]
#[test]
fn two_do_not_make_one_file_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("film.avi");
    // What a pulled plug left, and another film whose name begins so.
    fs::write(folder.path().join("film.avi.abcdef.part"), "").unwrap();
    let longer = Replacement::create_alone(&folder.path().join("film.avi.avi")).unwrap();
    let mut one = Replacement::create_alone(&path).unwrap();
    let busy = Replacement::create_alone(&path).unwrap_err();
    assert_eq!((busy.kind(), busy.to_string().as_str()), (io::ErrorKind::ResourceBusy, BUSY));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "the one that is refused leaves nothing");
    one.commit().unwrap();
    drop((one, longer));
    drop(Replacement::create_alone(&path).unwrap());
    let null = Path::new("/dev/null");
    let two = [(); 2].map(|()| Replacement::create_alone(null));
    assert!(two.iter().all(Result::is_ok), "a device is anybody's");
}

#[cfg(unix)]
#[test]
fn whoever_writes_lines_to_a_place_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses");
    let mut lines = LinesFile::open(&path, Existing::Append).unwrap();
    lines.write_all(b"one\n").unwrap();
    assert_eq!(Replacement::create_alone(&path).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
    drop(lines);
    drop(Replacement::create_alone(&path).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
}

#[test]
fn a_folders_name_is_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("{}/new/", folder.path().display());
    let refused = Replacement::create(Path::new(&path)).unwrap_err();
    assert!(refused.to_string().contains("folder's name"), "{refused}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn what_the_disk_does_not_take_takes_no_place_and_says_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, "old").unwrap();
    let mut new = Replacement::create(&path).unwrap();
    new.write_all(b"new").unwrap();
    let said = new.take_place(|_| Err(io::Error::other("broken"))).unwrap_err().to_string();
    let kept = said.strip_prefix("broken; it is in ").unwrap();
    assert_eq!([fs::read(kept).unwrap(), fs::read(&path).unwrap()], [b"new", b"old"]);
    let mut newer = Replacement::create(&path).unwrap();
    newer.write_all(b"newer").unwrap();
    newer.take_place(|_| Err(io::ErrorKind::InvalidInput.into())).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"newer");
    for limit in [Duration::ZERO, Duration::from_secs(60)] {
        let mut newest = Replacement::create(&path).unwrap();
        newest.write_all(b"newest").unwrap();
        newest.commit_within(limit).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"newest", "{limit:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_and_a_file_without_a_name_are_written_to_by_their_descriptor() {
    use std::os::fd::AsRawFd;
    let at = |fd: &dyn AsRawFd| PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()));
    let write = |path: &Path| {
        let mut new = Replacement::create(path).unwrap();
        new.write_all(b"new").unwrap();
        new.commit().unwrap();
    };
    let (mut reader, writer) = io::pipe().unwrap();
    write(&at(&writer));
    drop(writer);
    let mut read = String::new();
    reader.read_to_string(&mut read).unwrap();
    assert_eq!(read, "new");
    let mut unlinked = tempfile::tempfile().unwrap();
    write(&at(&unlinked));
    unlinked.read_to_string(&mut read).unwrap();
    assert_eq!(read, "newnew");
}

#[test]
fn what_stood_there_is_kept_where_one_says() {
    let folder = tempfile::tempdir().unwrap();
    let [path, earlier] = ["a.txt", "a.1.txt"].map(|name| folder.path().join(name));
    for (held, existing) in [("1", Existing::Append), ("2", Existing::Append), ("3", Existing::Replace)] {
        let mut new = Replacement::create(&path).unwrap().following(existing);
        new.write_all(held.as_bytes()).unwrap();
        new.commit().unwrap();
        assert_eq!(new.earlier(), (held == "2").then_some(&*earlier));
    }
    let held = [&path, &earlier].map(|path| fs::read_to_string(path).unwrap());
    assert_eq!(held, ["3", "1"]);
}

#[cfg(unix)]
#[test]
fn one_file_is_known_by_all_its_names_and_a_link_survives_its_targets_replacement() {
    let folder = tempfile::tempdir().unwrap();
    let [a, hard, soft, other] = ["a", "hard", "soft", "other"].map(|name| folder.path().join(name));
    fs::write(&a, "1").unwrap();
    fs::write(&other, "1").unwrap();
    fs::hard_link(&a, &hard).unwrap();
    std::os::unix::fs::symlink(&a, &soft).unwrap();
    assert!(is_same(&a, &hard) && is_same(&hard, &soft) && is_same(&a, &a));
    assert!(!is_same(&a, &other) && !is_same(&a, &folder.path().join("none")));
    let mut new = Replacement::create(&soft).unwrap();
    new.write_all(b"2").unwrap();
    new.commit().unwrap();
    assert_eq!(fs::read_link(&soft).unwrap(), a);
    assert_eq!(
        (fs::read_to_string(&a).unwrap().as_str(), fs::read_to_string(&hard).unwrap().as_str()),
        ("2", "1")
    );
}

#[cfg(unix)]
#[test]
fn one_output_is_known_before_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let [a, hard, other] = ["a", "hard", "other"].map(|name| folder.path().join(name));
    let by_dot = folder.path().join(".").join("a");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("a", &link).unwrap();
    assert!(would_be_same(&a, &link) && would_be_same(&link, &a) && !would_be_same(&link, &other));
    assert!(would_be_same(&a, &a) && would_be_same(&a, &by_dot) && !would_be_same(&a, &other));
    // Names without a folder are those of the folder that one is in.
    let here = Path::new("no file of this name");
    assert!(would_be_same(here, &std::env::current_dir().unwrap().join(here)));
    assert!(!would_be_same(&folder.path().join("none/a"), &folder.path().join("none/b")));
    fs::write(&a, "1").unwrap();
    fs::write(&other, "1").unwrap();
    fs::hard_link(&a, &hard).unwrap();
    assert!(would_be_same(&a, &hard) && !would_be_same(&a, &other));
}

#[cfg(unix)]
#[test]
fn who_may_read_a_file_stays_so_and_a_new_one_is_as_any_other() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let [old, new, plain] = ["old", "new", "plain"].map(|name| folder.path().join(name));
    fs::write(&plain, "").unwrap();
    fs::write(&old, "").unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o640)).unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for path in [&old, &new] {
        Replacement::create(path).unwrap().commit().unwrap();
    }
    assert_eq!((mode(&old), mode(&new)), (0o640, mode(&plain)));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_written_to_at_once_and_never_replaced() {
    let null = Path::new("/dev/null");
    let mut new = Replacement::create(null).unwrap();
    assert_eq!(new.written_to(), null);
    new.write_all(b"gone").unwrap();
    assert_eq!(new.keep().unwrap(), null);
}

#[test]
fn a_file_without_a_folder_is_made_in_the_one_that_one_is_in() {
    let name = Path::new("a file that is never committed");
    let new = Replacement::create(name).unwrap();
    let beside = new.written_to().to_owned();
    assert!(beside.exists() && beside.to_string_lossy().contains("a file that is never committed."));
    drop(new);
    assert!(!beside.exists() && !name.exists());
}

#[test]
fn what_was_written_is_cut_off_where_one_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let mut new = Replacement::create(&path).unwrap();
    assert!(new.is_empty().unwrap());
    new.write_all(b"123456").unwrap();
    assert!(!new.is_empty().unwrap());
    new.set_len(4).unwrap();
    new.seek(SeekFrom::Start(1)).unwrap();
    new.write_all(b"x").unwrap();
    new.commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "1x34");
}

#[test]
fn a_file_as_long_as_may_be_is_read_and_a_longer_one_and_what_is_no_text_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, b"four").unwrap();
    assert_eq!(read_text_at_most(&path, 4).unwrap(), "four");
    assert_eq!(read_text_at_most(&path, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    fs::write(&path, b"\xff\xfe").unwrap();
    assert_eq!(read_text_at_most(&path, 4).unwrap_err().kind(), io::ErrorKind::InvalidData);
}

#[cfg(unix)]
#[test]
fn what_is_endless_is_read_no_further_than_the_limit() {
    let error = read_at_most(Path::new("/dev/zero"), MAX_TEXT_BYTES).unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("1 MiB")), (io::ErrorKind::FileTooLarge, true));
    assert!(read_at_most(Path::new("/dev/null"), 0).unwrap().is_empty());
}
