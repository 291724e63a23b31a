//! What pictures and films of people must hold.

use std::{fs, path::Path, sync::Arc};

use people::{
    asset::Asset,
    body::Body,
    dataset::{self, DatasetError, Order, Photos},
    film::Film,
    math::{Vec3, vec3},
    motion::{Motion, PoseChoice, draw},
    posing::{Ground, Habit, bend, follow},
    rng::Rng,
    shot::{GROUP, Material, Photo, Studio, Wanted},
    stance::{clash_m, crash_m},
    wear::Template,
};

fn alone() -> Wanted {
    Wanted { size: 96, company: 0.0, occluders: 0.0, damage: false, ..Wanted::default() }
}

#[test]
fn the_same_seed_gives_the_same_picture_and_another_seed_another() {
    let wanted = Wanted { size: 96, ..Wanted::default() };
    let (mut a, mut b) = (Studio::new(None), Studio::new(None));
    // One studio has made other pictures before: nothing of them stays.
    b.shot(&wanted, 5, 77);
    let (first, second) = (a.shot(&wanted, 5, 3), b.shot(&wanted, 5, 3));
    assert!(first.rgb == second.rgb);
    assert_eq!(first.truth, second.truth);
    assert!(a.shot(&wanted, 6, 3).rgb != first.rgb);
    assert!(a.shot(&wanted, 5, 4).rgb != first.rgb);
}

#[test]
fn a_film_is_the_same_whichever_frame_is_asked_first() {
    let (mut a, mut b) = (Film::new(2, 160, 120, 3), Film::new(2, 160, 120, 3));
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for t in [0.0, 1.0, 9.5] {
        a.draw(t, &mut first);
    }
    b.draw(9.5, &mut second);
    assert!(first == second);
    assert_eq!(a.truth(), b.truth());
}

#[test]
fn films_of_one_scene_show_the_same_people_from_different_sides() {
    let mut films = Film::round(2, 3, 160, 120, 5);
    let mut rgb = Vec::new();
    let mut worlds: Vec<Vec<[Vec3; 17]>> = Vec::new();
    for t in [0.0, 4.0, 11.3] {
        worlds.clear();
        for film in &mut films {
            film.draw(t, &mut rgb);
            let world: Vec<[Vec3; 17]> = film.world_m().copied().collect();
            for (joints, truth) in world.iter().zip(film.truth()) {
                for (at, joint) in joints.iter().zip(&truth.joints) {
                    let off = film.camera().see(*at) - Vec3::from(joint.camera_m);
                    assert!(off.length() < 1e-3, "{off:?}");
                }
                let inside = truth.joints.iter().filter(|j| j.is_inside).count();
                assert!(inside >= 12, "{inside} joints in the picture");
            }
            worlds.push(world);
        }
        assert!(worlds.iter().all(|w| *w == worlds[0]));
        let [a, b] = [0, 1].map(|k| (worlds[0][k][11] + worlds[0][k][12]) * 0.5);
        assert!((a - b).flat().length() > 0.35, "nobody walks through anybody: {a:?} {b:?}");
    }
    let eyes: Vec<Vec3> = films.iter().map(|f| f.camera().eye).collect();
    assert!((eyes[0] - eyes[1]).length() > 3.0 && (eyes[1] - eyes[2]).length() > 3.0);
}

#[test]
fn joints_that_are_seen_lie_on_the_person_and_in_its_box() {
    let mut studio = Studio::new(None);
    let (mut seen, mut hidden) = (0, 0);
    for k in 0..40 {
        let shot = studio.shot(&alone(), 1, k);
        let t = &shot.truth[0];
        assert!(
            t.area_px > 100.0 && t.area_px <= t.whole_px + 0.5,
            "picture {k}: {} of {} px",
            t.area_px,
            t.whole_px
        );
        let [x, y, w, h] = t.box_px;
        for (j, joint) in t.joints.iter().enumerate() {
            hidden += u32::from(joint.is_inside && !joint.is_seen);
            if !joint.is_seen {
                continue;
            }
            seen += 1;
            let near = 3.0;
            assert!(
                joint.x_px > x - near
                    && joint.x_px < x + w + near
                    && joint.y_px > y - near
                    && joint.y_px < y + h + near,
                "picture {k}, joint {j} at {}, {} outside the box {:?}",
                joint.x_px,
                joint.y_px,
                t.box_px
            );
            // Pixels and metres say the same.
            let c = shot.camera.project(Vec3::from(joint.camera_m));
            assert!((c[0] - joint.x_px).abs() < 0.01 && (c[1] - joint.y_px).abs() < 0.01);
        }
    }
    assert!(seen > 2 * hidden && hidden > 20, "{seen} seen, {hidden} hidden");
}

#[test]
fn what_stands_before_somebody_hides_joints() {
    let mut studio = Studio::new(None);
    let mut share = |occluders: f32| {
        let wanted = Wanted { occluders, ..alone() };
        let (mut hidden, mut all) = (0, 0);
        for k in 0..40 {
            for joint in studio.shot(&wanted, 2, k).truth[0].joints.iter().filter(|j| j.is_inside) {
                all += 1;
                hidden += u32::from(!joint.is_seen);
            }
        }
        f64::from(hidden) / f64::from(all)
    };
    let (free, blocked) = (share(0.0), share(1.0));
    assert!(blocked > free + 0.04, "{free:.3} hidden without things before people, {blocked:.3} with");
}

/// Bodies of pictures as joints alone: camera space turns no distance.
fn bodies(shot: &people::shot::Shot) -> Vec<[Vec3; 17]> {
    shot.truth.iter().map(|t| t.joints.map(|j| Vec3::from(j.camera_m))).collect()
}

#[test]
fn nobody_is_in_anybody_and_hardly_any_limb_in_another() {
    let asset = Asset::embedded();
    let template = Template::embedded();
    const HEIGHT_M: f32 = 1.6; // of no body in particular
    let mut rng = Rng::new(3, 3);
    let drawn = (0..300).map(|_| {
        let body = Body::sampled(asset, rng.below(asset.bodies()));
        let p = draw(&asset.stills, &asset.clips, PoseChoice::default(), &mut rng);
        let posed = follow(asset, &template.bones, &body, &p, Ground::Free, &Habit::draw(&mut rng, 1.0));
        body.posed_joints(asset, &posed)
    });
    let of_any_pose = drawn.filter(|j| clash_m(j, HEIGHT_M) > 0.04).count() as f32 / 300.0;
    let mut studio = Studio::new(None);
    let wanted = Wanted { company: 1.0, size: 64, ..alone() };
    let (mut all, mut wrong) = (0, 0);
    for k in 0..80 {
        let people = bodies(&studio.shot(&wanted, 4, k));
        for (i, a) in people.iter().enumerate() {
            all += 1;
            wrong += usize::from(clash_m(a, HEIGHT_M) > 0.04);
            for b in &people[..i] {
                let deep = crash_m((a, HEIGHT_M), (b, HEIGHT_M));
                assert!(deep < 0.05, "picture {k}: {deep} m deep in each other");
            }
        }
    }
    let of_pictures = wrong as f32 / all as f32;
    println!("{of_any_pose:.3} of poses have limbs in each other, {of_pictures:.3} in pictures");
    assert!(all > 140 && of_pictures < 0.5 * of_any_pose.max(0.01), "{of_any_pose} {of_pictures} of {all}");
}

#[test]
fn crowds_are_of_many_who_are_smaller() {
    let mut studio = Studio::new(None);
    let mut seen_of = |crowd: usize| {
        let wanted = Wanted { company: 1.0, crowd, ..alone() };
        let (mut persons, mut heights) = (0, 0.0);
        for k in 0..30 {
            let shot = studio.shot(&wanted, 8, k);
            assert!(shot.truth.len() <= crowd);
            for t in shot.truth.iter().filter(|t| t.area_px > 0.0) {
                (persons, heights) = (persons + 1, heights + t.box_px[3]);
            }
        }
        (persons, heights / persons as f32)
    };
    let (few, tall) = seen_of(3);
    let (many, small) = seen_of(8);
    assert!(many as f32 > 1.4 * few as f32 && small < 0.8 * tall, "{few} of {tall} px, {many} of {small} px");
}

#[test]
fn knees_and_elbows_fold_as_they_can() {
    let asset = Asset::embedded();
    let template = Template::embedded();
    let b = &template.bones;
    let mut rng = Rng::new(1, 1);
    for k in 0..400 {
        let body = Body::sampled(asset, rng.below(asset.bodies()));
        let p = draw(&asset.stills, &asset.clips, PoseChoice::default(), &mut rng);
        let posed = follow(asset, b, &body, &p, Ground::Free, &Habit::draw(&mut rng, 1.0));
        for s in 0..2 {
            let h = &body.heads;
            let knee = bend(
                &posed[b.thigh[s]],
                &posed[b.shin[s]],
                h[b.shin[s]] - h[b.thigh[s]],
                h[b.foot[s]] - h[b.shin[s]],
            );
            assert!(knee < 2.9, "pose {k}: a knee folded by {knee}");
            // The shin does not fold towards the front of the thigh.
            let ahead = posed[b.thigh[s]].turn * vec3(0.0, 0.0, 1.0);
            let shin = (posed[b.shin[s]].turn * (h[b.foot[s]] - h[b.shin[s]])).unit();
            let thigh = (posed[b.thigh[s]].turn * (h[b.shin[s]] - h[b.thigh[s]])).unit();
            let forward = shin.dot((ahead - thigh * thigh.dot(ahead)).unit());
            assert!(forward < 0.45, "pose {k}: a knee bent forwards, {forward}");
            let elbow = bend(
                &posed[b.arm[s]],
                &posed[b.forearm[s]],
                h[b.forearm[s]] - h[b.arm[s]],
                h[b.hand[s]] - h[b.forearm[s]],
            );
            assert!(elbow < 2.95, "pose {k}: an elbow folded by {elbow}");
        }
    }
}

#[test]
fn people_in_a_film_stand_on_the_ground_walk_and_do_not_jump() {
    let mut film = Film::new(3, 160, 120, 4);
    let mut rgb = Vec::new();
    let mut before: Option<Vec<[Vec3; 17]>> = None;
    let mut far = [0.0f32; 3];
    for frame in 0..450 {
        film.draw(frame as f32 / 30.0, &mut rgb);
        for low in film.lowest_m() {
            assert!((-0.001..0.12).contains(&low), "frame {frame}: the lowest point is {low} m up");
        }
        let now: Vec<[Vec3; 17]> = film.world_m().copied().collect();
        if let Some(before) = &before {
            for (i, (a, b)) in before.iter().zip(&now).enumerate() {
                for j in 0..17 {
                    let step = (a[j] - b[j]).length();
                    assert!(step < 0.45, "frame {frame}, person {i}, joint {j} moved {step} m in 1/30 s");
                }
                far[i] += (a[11] - b[11]).flat().length();
            }
        }
        before = Some(now);
    }
    assert!(far.iter().all(|&f| f > 1.0), "hips went {far:?} m in 15 s");
}

#[test]
fn lively_people_do_what_is_recorded_stay_in_view_and_do_not_jump() {
    let embedded = &Asset::embedded().clips;
    let motion = Arc::new(Motion { hz: embedded.hz, clips: embedded.clips.clone() });
    let (mut rgb, mut plain) = (Vec::new(), Vec::new());
    let (mut seen, mut asked) = (0, 0);
    for seed in 0..4 {
        let mut film = Film::lively(2, 160, 120, seed, &motion);
        let mut before: Option<Vec<[Vec3; 17]>> = None;
        for frame in 0..240 {
            film.draw(frame as f32 / 30.0, &mut rgb);
            let now: Vec<[Vec3; 17]> = film.world_m().copied().collect();
            for (i, (a, b)) in before.iter().flatten().zip(&now).enumerate() {
                for j in 0..17 {
                    let step = (a[j] - b[j]).length();
                    assert!(
                        step < 0.6,
                        "seed {seed}, frame {frame}, person {i}: joint {j} moved {step} m in 1/30 s"
                    );
                }
            }
            for truth in film.truth() {
                seen += usize::from(truth.joints.iter().any(|j| j.is_inside));
                asked += 1;
            }
            before = Some(now);
        }
        Film::new(2, 160, 120, seed).draw(8.0, &mut plain);
        assert!(rgb != plain, "seed {seed}: not the built-in film");
    }
    assert!(seen * 10 > asked * 8, "in {seen} of {asked} a joint is in the picture");
}

fn order(count: u64, seed: u64) -> Order {
    Order {
        count,
        seed,
        wanted: Wanted { size: 64, ..Wanted::default() },
        jobs: 2,
        photos: Photos::default(),
        cloth: Photos::default(),
    }
}

fn digest(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("is there")
        .map(|f| f.expect("listed"))
        .map(|f| (f.file_name().to_string_lossy().into_owned(), fs::read(f.path()).expect("readable")))
        .collect();
    files.sort();
    files
}

#[test]
fn a_set_is_made_whole_again_the_same_and_gone_on_with() {
    let dir = tempfile::tempdir().expect("a folder");
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    dataset::make(&order(30, 9), None, &a, |_, _| ()).expect("makes a set");
    dataset::make(&order(20, 9), None, &b, |_, _| ()).expect("makes part of it");
    let part = ["labels.json", "CARD.md"].map(|name| fs::read(b.join(name)).expect("readable"));
    dataset::make(&order(30, 9), None, &b, |_, _| ()).expect("goes on");
    assert!(digest(&a) == digest(&b));
    let labels: serde_json::Value =
        serde_json::from_slice(&fs::read(a.join("labels.json")).expect("labels")).expect("JSON");
    assert_eq!(labels["images"].as_array().map(Vec::len), Some(30));
    let persons = labels["annotations"].as_array().expect("a list");
    assert!(persons.len() >= 30);
    assert!(persons.iter().all(|p| p["keypoints"].as_array().is_some_and(|k| k.len() == 51)));
    // Of a group with the same people all are of val or none.
    let split = |id: u64| if id <= GROUP { "val" } else { "train" };
    let is_so =
        |record: &serde_json::Value, id: &str| record[id].as_u64().map(split) == record["split"].as_str();
    assert!(labels["images"].as_array().is_some_and(|images| images.iter().all(|i| is_so(i, "id"))));
    assert!(persons.iter().all(|p| is_so(p, "image_id")));
    // COCO counts places by pixels' indices, the renderer from the picture's corner.
    let first = &Studio::new(None).shot(&order(30, 9).wanted, 9, 0).truth[0];
    for (j, joint) in first.joints.iter().enumerate().filter(|(_, joint)| joint.is_inside) {
        let place = [0, 1].map(|axis| persons[0]["keypoints"][3 * j + axis].as_f64().expect("a number"));
        for (label, px) in place.into_iter().zip([joint.x_px, joint.y_px]) {
            assert!((label - f64::from(px - 0.5)).abs() < 0.006, "joint {j}: {label} for {px}");
        }
    }
    // The tar holds the JPEGs under the names that the labels give.
    let tar = fs::read(a.join("shard-00000.tar")).expect("the shard");
    assert_eq!(&tar[..12], b"00000000.jpg");
    assert_eq!(&tar[512..514], [0xff, 0xd8]);
    assert!(fs::read_to_string(a.join("CARD.md")).expect("a card").contains("mocap.cs.cmu.edu"));
    // Fewer of what is there: labels and card are those of the smaller order, and nothing is drawn again.
    dataset::make(&order(20, 9), None, &a, |_, _| ()).expect("takes part of it");
    let again = ["labels.json", "CARD.md"].map(|name| fs::read(a.join(name)).expect("readable"));
    assert!(again == part && fs::read(a.join("shard-00000.tar")).expect("the shard") == tar);
}

#[test]
fn a_set_is_not_gone_on_with_by_other_motion_or_photographs_though_they_are_called_the_same() {
    let dir = tempfile::tempdir().expect("a folder");
    let (photos, set) = (dir.path().join("photos"), dir.path().join("set"));
    fs::create_dir(&photos).expect("a folder");
    let paint = |colour| {
        let photo = image::RgbImage::from_pixel(80, 60, image::Rgb(colour));
        photo.save(photos.join("wall.jpg")).expect("writes");
        Order { photos: Photos::of(&photos, 1.0).expect("one"), ..order(2, 5) }
    };
    let embedded = &Asset::embedded().clips;
    let [motion, other] = [false, true].map(|is_other| {
        let mut clips = embedded.clips[..2].to_vec();
        if is_other {
            clips[1].frames.reverse();
        }
        Motion { hz: embedded.hz, clips }
    });
    let make = |order: &Order, motion: &Motion| dataset::make(order, Some(motion), &set, |_, _| ());
    make(&paint([30, 200, 40]), &motion).expect("makes a set");
    make(&paint([30, 200, 40]), &motion).expect("goes on");
    for (order, motion) in [(paint([30, 200, 40]), &other), (paint([200, 30, 40]), &motion)] {
        assert!(matches!(make(&order, motion), Err(DatasetError::Other { .. })));
    }
}

#[test]
fn photographs_are_seen_behind_and_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let (photos, set) = (dir.path().join("photos"), dir.path().join("set"));
    fs::create_dir(&photos).expect("a folder");
    assert!(matches!(Photos::of(&photos, 1.0), Err(DatasetError::Order(_))), "none there");
    // All of one green: a picture before it is green but for the person.
    let green = image::RgbImage::from_pixel(80, 60, image::Rgb([30, 200, 40]));
    green.save(photos.join("green.jpg")).expect("writes");
    let wanted = Wanted { occluders: 0.0, ..alone() };
    let asked = Order { wanted, photos: Photos::of(&photos, 1.0).expect("one"), ..order(3, 5) };
    dataset::make(&asked, None, &set, |_, _| ()).expect("makes a set");
    let labels: serde_json::Value =
        serde_json::from_slice(&fs::read(set.join("labels.json")).expect("labels")).expect("JSON");
    assert_eq!(labels["images"][2]["background"], "green.jpg");
    assert!(fs::read_to_string(set.join("CARD.md")).expect("a card").contains("licence's class"));
    let photo = Photo { width: 80, height: 60, rgb: green.into_raw() };
    let shot =
        Studio::new(None).shot_with(&wanted, &Material { behind: Some(&photo), ..Material::default() }, 5, 0);
    let greens = shot.rgb.chunks_exact(3).filter(|p| p[1] > 60 && p[1] > 2 * p[0]).count();
    assert!(greens > 96 * 96 / 4, "{greens}");
    // Nothing that is no JPEG is found out only when it is its turn.
    let whole = fs::read(photos.join("green.jpg")).expect("readable");
    fs::write(photos.join("green.jpg"), "no picture").expect("writes");
    let refused = Photos::of(&photos, 1.0).expect_err("refused");
    assert!(refused.to_string().contains("green.jpg"), "{refused}");
    fs::write(photos.join("green.jpg"), &whole[..whole.len() / 2]).expect("writes");
    let other = dir.path().join("other");
    let refused = dataset::make(&asked, None, &other, |_, _| ()).expect_err("refused");
    assert!(matches!(&refused, DatasetError::Photo { .. }) && refused.to_string().contains("green.jpg"));
}

#[test]
fn cloth_is_cut_from_photographs_and_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let (photos, set) = (dir.path().join("photos"), dir.path().join("set"));
    fs::create_dir(&photos).expect("a folder");
    // All of one magenta, which nothing else is.
    let dyed = image::RgbImage::from_pixel(80, 60, image::Rgb([230, 20, 200]));
    dyed.save(photos.join("dyed.JPEG")).expect("writes");
    let cloth = Photos::of(&photos, 1.0).expect("one");
    let asked = Order { wanted: alone(), cloth, ..order(8, 5) };
    dataset::make(&asked, None, &set, |_, _| ()).expect("makes a set");
    let labels: serde_json::Value =
        serde_json::from_slice(&fs::read(set.join("labels.json")).expect("labels")).expect("JSON");
    assert_eq!(labels["images"][2]["cloth"][0], "dyed.JPEG");
    let card = fs::read_to_string(set.join("CARD.md")).expect("a card");
    assert!(card.contains("garments") && card.contains("licence's class"), "{card}");
    let photo = Photo { width: 80, height: 60, rgb: dyed.into_raw() };
    let material = Material { cloth: std::slice::from_ref(&photo), cloth_share: 1.0, ..Material::default() };
    let shot = Studio::new(None).shot_with(&alone(), &material, 5, 0);
    let is_dyed = |p: &&[u8]| p[0] > 60 && u32::from(p[0]) > 2 * u32::from(p[1]) && p[2] > 60;
    let dyed = shot.rgb.chunks_exact(3).filter(is_dyed).count() as f32;
    assert!(dyed > 0.2 * shot.truth[0].area_px, "{dyed} of {} pixels", shot.truth[0].area_px);
    assert_eq!(shot.cloth, [0]);
    assert!(Photos::of(&photos, 1.5).is_err_and(|e| e.to_string().contains("0 to 1")));
    // The same people, dressed otherwise.
    let plain = Studio::new(None).shot(&alone(), 5, 0);
    assert_eq!(plain.truth[0].joints, shot.truth[0].joints);
    assert!(plain.cloth.is_empty() && plain.rgb != shot.rgb);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told_and_the_set_gone_on_with_once_there_is_room() {
    let dir = tempfile::tempdir().expect("a folder");
    let (full, free) = (dir.path().join("full"), dir.path().join("free"));
    fs::create_dir(&full).expect("a folder");
    let part = full.join("shard-00000.part");
    std::os::unix::fs::symlink("/dev/full", &part).expect("a link");
    let told = dataset::make(&order(6, 3), None, &full, |_, _| ()).expect_err("no room");
    assert!(matches!(&told, DatasetError::Io { .. }) && told.to_string().contains("shard-00000"), "{told}");
    assert!(!full.join("labels.json").exists() && !full.join("shard-00000.json").exists());
    fs::remove_file(&part).expect("a link");
    dataset::make(&order(6, 3), None, &full, |_, _| ()).expect("goes on");
    dataset::make(&order(6, 3), None, &free, |_, _| ()).expect("makes a set");
    assert!(digest(&full) == digest(&free));
    // Labels that are damaged are made again; what says how the set was made is not guessed at.
    fs::write(full.join("shard-00000.json"), "{").expect("writes");
    dataset::make(&order(6, 3), None, &full, |_, _| ()).expect("makes the shard again");
    assert!(digest(&full) == digest(&free));
    fs::write(full.join("order.json"), "{").expect("writes");
    let told = dataset::make(&order(6, 3), None, &full, |_, _| ()).expect_err("refused");
    assert!(matches!(told, DatasetError::Other { .. }));
}

#[test]
fn wrong_orders_are_refused_with_their_reason() {
    let dir = tempfile::tempdir().expect("a folder");
    let refused =
        |order: &Order, folder: &Path| dataset::make(order, None, folder, |_, _| ()).expect_err("refused");
    assert!(matches!(refused(&order(0, 1), dir.path()), DatasetError::Order(_)));
    let huge = Order { wanted: Wanted { size: 5000, ..Wanted::default() }, ..order(1, 1) };
    assert!(refused(&huge, dir.path()).to_string().contains("5000"));
    let many = Order { wanted: Wanted { crowd: 9, ..Wanted::default() }, ..order(1, 1) };
    assert!(refused(&many, dir.path()).to_string().contains("2 to 8"));
    let odd = Order { wanted: Wanted { company: f32::NAN, ..Wanted::default() }, ..order(1, 1) };
    assert!(refused(&odd, dir.path()).to_string().contains("company"));
    let set = dir.path().join("set");
    dataset::make(&order(2, 1), None, &set, |_, _| ()).expect("makes a set");
    let other = refused(&order(2, 2), &set);
    assert!(
        matches!(other, DatasetError::Other { .. }) && other.to_string().contains("another folder"),
        "{other}"
    );
    let file = dir.path().join("file");
    fs::write(&file, "in the way").expect("writes");
    assert!(matches!(refused(&order(2, 1), &file), DatasetError::Io { .. }));
}

#[test]
fn a_film_is_not_written_where_its_truth_goes() {
    let dir = tempfile::tempdir().expect("a folder");
    let film = |name: &str| {
        let out = dir.path().join(name);
        let args = ["film", "--persons", "1", "--seconds", "0.1", "--fps", "10", "--size", "64x64", "--out"];
        let program = std::process::Command::new(env!("CARGO_BIN_EXE_people")).args(args).arg(out).output();
        program.expect("runs")
    };
    let refused = film("a.jsonl");
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && told.contains("a.y4m"), "{told}");
    assert!(digest(dir.path()).is_empty(), "nothing is begun");
    assert!(film("a.y4m").status.success());
    let written = fs::read(dir.path().join("a.y4m")).expect("reads");
    let head = String::from_utf8_lossy(&written[..80]).into_owned();
    assert!(head.lines().next().is_some_and(|line| line.ends_with(" XCOLORRANGE=FULL")), "{head}");
    assert_eq!(digest(dir.path()).len(), 2);
}
