//! From a picture and a box to joints, with networks built here and the codec's golden vectors.

use std::sync::Arc;

use pose::{BoxPx, JOINTS, Keypoints, MAX_PERSONS, PersonBox};
use posewire::infer::{InferError, OutputInfo, Plan, State};
use posewire::keypoints::{Decoder, KeypointError, KeypointNet, MAX_FOUND, PersonFinder};
use posewire::picture::{Affine, Picture, PixelFormat, PixelsMut};
use posewire::tracker::{Networks, Stills};
use serde::Deserialize;

use crate::tiny::{self, Net};

const SIDE_64: &str = "width = 64\nheight = 64";

/// A black RGB picture with red squares of `size` px centred at the places.
fn red_squares(width: usize, height: usize, size: usize, places: &[(usize, usize)]) -> Vec<u8> {
    let mut rgb = vec![0; width * height * 3];
    for &(cx, cy) in places {
        for y in cy - size / 2..cy + size / 2 {
            for x in cx - size / 2..cx + size / 2 {
                rgb[(y * width + x) * 3] = 255;
            }
        }
    }
    rgb
}

fn picture(rgb: &[u8], width: usize, height: usize) -> Picture<'_> {
    Picture {
        bytes: rgb,
        format: PixelFormat::Rgb24,
        width,
        height,
        stride: 3 * width,
        image_size: [width, height],
        image_from_picture: [1.0; 2],
    }
}

fn red_net() -> KeypointNet {
    let (manifest, plan) =
        tiny::load("keypoints", &tiny::red_heatmaps(64), SIDE_64, tiny::RED_CODEC).unwrap();
    KeypointNet::new(&manifest, &plan).unwrap()
}

#[test]
fn joints_come_in_pixels_of_the_source_image_for_several_boxes_at_once() {
    let rgb = red_squares(640, 480, 24, &[(200, 120), (500, 300)]);
    let boxes = [
        BoxPx { x: 150.0, y: 60.0, w: 80.0, h: 120.0 },
        BoxPx { x: 440.0, y: 260.0, w: 120.0, h: 100.0 },
        BoxPx { x: 10.0, y: 400.0, w: 50.0, h: 50.0 },
    ];
    let mut out = [Keypoints::default(); 3];
    red_net().estimate(&picture(&rgb, 640, 480), &boxes, &mut out).unwrap();
    for (k, (x, y)) in out.iter().zip([(200.0, 120.0), (500.0, 300.0)]) {
        for joint in k.joints {
            assert!((joint.x_px - x).abs() < 2.0 && (joint.y_px - y).abs() < 2.0, "{joint:?}, not {x}, {y}");
        }
        assert!(k.score > 0.8);
    }
    assert!(out[2].score < 0.2, "nothing red there: {}", out[2].score);
}

#[test]
fn a_picture_decoded_at_half_scale_gives_the_same_places() {
    let rgb = red_squares(320, 240, 12, &[(100, 60)]);
    let half = Picture { image_size: [640, 480], image_from_picture: [2.0; 2], ..picture(&rgb, 320, 240) };
    let mut out = [Keypoints::default()];
    red_net().estimate(&half, &[BoxPx { x: 150.0, y: 60.0, w: 80.0, h: 120.0 }], &mut out).unwrap();
    let joint = out[0].joints[0];
    assert!((joint.x_px - 200.0).abs() < 2.0 && (joint.y_px - 120.0).abs() < 2.0, "{joint:?}");
}

#[test]
fn boxes_outside_the_picture_give_unsure_joints_and_empty_boxes_an_error() {
    let rgb = red_squares(640, 480, 24, &[(200, 120)]);
    let p = picture(&rgb, 640, 480);
    let mut net = red_net();
    let mut out = [Keypoints::default()];
    for b in [
        BoxPx { x: -900.0, y: -900.0, w: 100.0, h: 100.0 },
        BoxPx { x: 600.0, y: 460.0, w: 300.0, h: 300.0 },
        BoxPx { x: -5e5, y: 0.0, w: 9e5, h: 9e5 },
        BoxPx { x: 100.0, y: 100.0, w: 0.0, h: 40.0 },
        BoxPx { x: 400.0, y: 400.0, w: 0.001, h: 0.001 },
    ] {
        net.estimate(&p, &[b], &mut out).unwrap();
        assert!(out[0].joints.iter().all(|k| k.x_px.is_finite() && k.score.is_finite()));
        assert!(out[0].score < 0.5, "{b:?}: {}", out[0].score);
    }
    let nothing = BoxPx { x: 10.0, y: 10.0, w: 0.0, h: 0.0 };
    let error = net.estimate(&p, &[nothing], &mut out).unwrap_err();
    assert!(matches!(error, KeypointError::Box { .. }) && error.to_string().contains("no extent"), "{error}");
    let b = BoxPx { x: 160.0, y: 80.0, w: 80.0, h: 80.0 };
    net.estimate(&p, &[b], &mut out).unwrap();
    assert!(out[0].score > 0.8, "the network can still be used");
}

#[test]
fn a_grey_picture_is_looked_at_too() {
    let rgb = red_squares(640, 480, 24, &[(200, 120)]);
    let grey: Vec<u8> = rgb.chunks_exact(3).map(|p| p[0]).collect();
    let p = Picture { format: PixelFormat::Grey, stride: 640, ..picture(&grey, 640, 480) };
    let mut out = [Keypoints::default()];
    red_net().estimate(&p, &[BoxPx { x: 150.0, y: 60.0, w: 80.0, h: 120.0 }], &mut out).unwrap();
    assert!((out[0].joints[0].x_px - 200.0).abs() < 2.0);
}

#[test]
fn a_second_look_in_the_mirror_sees_the_same_places() {
    let rgb = red_squares(640, 480, 24, &[(200, 120), (500, 300)]);
    // Neither square is in the middle of its crop.
    let boxes =
        [BoxPx { x: 150.0, y: 60.0, w: 80.0, h: 120.0 }, BoxPx { x: 470.0, y: 240.0, w: 90.0, h: 100.0 }];
    let estimate = |codec: &str| {
        let (manifest, plan) = tiny::load("keypoints", &tiny::red_heatmaps(64), SIDE_64, codec).unwrap();
        let mut out = [Keypoints::default(); 2];
        let mut net = KeypointNet::new(&manifest, &plan).unwrap();
        net.estimate(&picture(&rgb, 640, 480), &boxes, &mut out).unwrap();
        out
    };
    let (once, twice) =
        (estimate(tiny::RED_CODEC), estimate(&format!("{}\nflip_test = true", tiny::RED_CODEC)));
    for (a, b) in once.iter().zip(&twice) {
        for (a, b) in a.joints.iter().zip(&b.joints) {
            assert!((a.x_px - b.x_px).abs() < 0.5 && (a.y_px - b.y_px).abs() < 0.5, "{a:?} {b:?}");
            assert!((a.score - b.score).abs() < 0.05, "{a:?} {b:?}");
        }
    }
}

#[test]
fn a_codec_that_does_not_fit_its_network_is_refused() {
    let onnx = tiny::red_heatmaps(64);
    for (codec, says) in [
        (tiny::RED_CODEC.replace("stride = 4", "stride = 2"), "[17, 32, 32]"),
        (tiny::RED_CODEC.replace("\"heatmaps\"", "\"maps\""), "the network has: heatmaps"),
        (format!("{}\npresence = \"there\"", tiny::RED_CODEC), "the network has: heatmaps"),
        (format!("{}\npresence = \"heatmaps\"", tiny::RED_CODEC), "wants [1, rows, columns]"),
        ("[codec]\nkind = \"movenet\"\noutput = \"heatmaps\"".into(), "wants [1, 17, 3]"),
        ("[codec]\nkind = \"yolo\"\noutput = \"heatmaps\"\nthreshold = 0.5\nnms_iou = 0.5".into(), "candidates"),
        (
            "[codec]\nkind = \"simcc\"\noutput_x = \"heatmaps\"\noutput_y = \"heatmaps\"\nbins_per_px = 2\nactivation = \"none\""
                .into(),
            "wants [17, 128]",
        ),
    ] {
        let (manifest, plan) = tiny::load("keypoints", &onnx, SIDE_64, &codec).unwrap();
        let error = format!("{:#}", KeypointNet::new(&manifest, &plan).err().unwrap());
        assert!(error.contains(says) && error.contains("tiny.onnx"), "wanted {says}: {error}");
    }
    let centre = "[codec]\nkind = \"centre\"\ncentre = \"heatmaps\"\nbox = \"heatmaps\"\nstride = 4\nthreshold = 0.5\nnms_iou = 0.5";
    let (manifest, plan) = tiny::load("person", &onnx, SIDE_64, centre).unwrap();
    assert!(PersonFinder::new(&manifest, &plan).err().unwrap().to_string().contains("wants [1, 16, 16]"));
    assert!(KeypointNet::new(&manifest, &plan).err().unwrap().to_string().contains("finds persons"));
}

/// The joints of the box that shows all of a black 64 x 64 picture: net pixels are image pixels.
fn decode_whole(onnx: &[u8], codec: &str) -> Keypoints {
    let (manifest, plan) =
        tiny::load("keypoints", onnx, SIDE_64, &format!("[roi]\npad = 1.0\nfill = 0\n{codec}")).unwrap();
    let mut out = [Keypoints::default()];
    let rgb = vec![0; 64 * 64 * 3];
    let whole = BoxPx { x: 0.0, y: 0.0, w: 64.0, h: 64.0 };
    KeypointNet::new(&manifest, &plan).unwrap().estimate(&picture(&rgb, 64, 64), &[whole], &mut out).unwrap();
    out[0]
}

#[test]
fn a_network_s_word_on_presence_is_the_mean_of_its_cells() {
    let onnx = Net::new("image", &[1, 3, 64, 64])
        .constant_output("image", "heatmaps", &[1, 17, 16, 16], &[0.0; 17 * 256])
        .constant_output("image", "there", &[1, 1, 1, 2], &[1.0, 3.0])
        .bytes();
    let k = decode_whole(&onnx, &format!("{}\npresence = \"there\"", tiny::RED_CODEC));
    assert!((k.score - 0.880_797).abs() < 1e-5, "the logistic of 2: {}", k.score);
}

#[test]
fn movenet_simcc_and_yolo_networks_run_by_manifest_alone() {
    let rows: Vec<f32> = (0..JOINTS).flat_map(|j| [0.5, j as f32 / 32.0, 0.7]).collect();
    let movenet =
        Net::new("image", &[1, 3, 64, 64]).constant_output("image", "out", &[1, 1, 17, 3], &rows).bytes();
    let k = decode_whole(&movenet, "[codec]\nkind = \"movenet\"\noutput = \"out\"");
    assert_eq!((k.joints[3].x_px, k.joints[3].y_px, k.joints[3].score), (6.0, 32.0, 0.7));

    let (mut over_x, mut over_y) = (vec![0.0; 17 * 128], vec![0.0; 17 * 128]);
    for j in 0..JOINTS {
        over_x[j * 128 + 20 + 2 * j] = 0.9;
        over_y[j * 128 + 64] = 0.8;
    }
    let simcc = Net::new("image", &[1, 3, 64, 64])
        .constant_output("image", "simcc_x", &[1, 17, 128], &over_x)
        .constant_output("image", "simcc_y", &[1, 17, 128], &over_y)
        .bytes();
    let codec = "[codec]\nkind = \"simcc\"\noutput_x = \"simcc_x\"\noutput_y = \"simcc_y\"\nbins_per_px = 2\nactivation = \"none\"";
    let k = decode_whole(&simcc, codec);
    assert_eq!((k.joints[3].x_px, k.joints[3].y_px, k.joints[3].score), (13.5, 32.5, 0.8));

    // Two candidates: a sure one at the edge, a less sure one that fills the crop.
    let person = |cx: f32, w: f32, confidence: f32| {
        let mut v = vec![cx, 32.0, w, 60.0, confidence];
        v.extend((0..JOINTS).flat_map(|j| [cx, j as f32, 0.6]));
        v
    };
    let candidates = [person(60.0, 8.0, 0.9), person(30.0, 50.0, 0.6)];
    let values: Vec<f32> = (0..56).flat_map(|v| candidates.iter().map(move |c| c[v])).collect();
    let yolo =
        Net::new("image", &[1, 3, 64, 64]).constant_output("image", "out", &[1, 56, 2], &values).bytes();
    let codec = "[codec]\nkind = \"yolo\"\noutput = \"out\"\nthreshold = 0.3\nnms_iou = 0.5";
    let k = decode_whole(&yolo, codec);
    assert_eq!((k.joints[3].x_px, k.joints[3].y_px, k.joints[3].score), (30.0, 3.0, 0.6));

    // The same file as a finder.
    let (manifest, plan) = tiny::load("person", &yolo, SIDE_64, codec).unwrap();
    let mut found = Vec::new();
    let rgb = vec![0; 128 * 128 * 3];
    PersonFinder::new(&manifest, &plan).unwrap().find(&picture(&rgb, 128, 128), &mut found).unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].box_px, BoxPx { x: 10.0, y: 4.0, w: 100.0, h: 120.0 });
}

const CENTRE_CODEC: &str = "[codec]\nkind = \"centre\"\ncentre = \"centre\"\nbox = \"box\"\nstride = 8\nthreshold = 0.4\nnms_iou = 0.45";

/// A finder on 64 x 64 with these centre logits and boxes of 32 x 32 net pixels.
fn centre_net(centre: &[f32]) -> Vec<u8> {
    boxes_net(centre, 2.0)
}

/// A finder on 64 x 64 with these centre logits, whose boxes reach so many strides of 8 net pixels to each side.
fn boxes_net(centre: &[f32], reach: f32) -> Vec<u8> {
    Net::new("image", &[1, 3, 64, 64])
        .constant_output("image", "centre", &[1, 1, 8, 8], centre)
        .constant_output("image", "box", &[1, 4, 8, 8], &[reach; 256])
        .bytes()
}

#[test]
fn a_finder_s_boxes_are_suppressed_and_lead_back_through_the_letterbox() {
    // Three cells of stride 8 on an 8 x 8 map: two of one person, one of another.
    let mut centre = vec![-9.0; 64];
    for (cell, logit) in [(3 * 8 + 2, 2.0), (3 * 8 + 3, 1.0), (5 * 8 + 6, 0.5)] {
        centre[cell] = logit;
    }
    let (onnx, codec) = (centre_net(&centre), CENTRE_CODEC);
    let (manifest, plan) = tiny::load("person", &onnx, SIDE_64, codec).unwrap();
    let mut finder = PersonFinder::new(&manifest, &plan).unwrap();
    let rgb = vec![0; 640 * 320 * 3];
    let mut found = Vec::new();
    finder.find(&picture(&rgb, 640, 320), &mut found).unwrap();
    // Net pixels are 10 image pixels; 16 rows of fill above and below the picture.
    let [a, b] = found[..] else { panic!("{found:?}") };
    for (box_px, expected) in
        [(a.box_px, [40.0, -40.0, 320.0, 320.0]), (b.box_px, [360.0, 120.0, 320.0, 320.0])]
    {
        for (v, e) in [box_px.x, box_px.y, box_px.w, box_px.h].into_iter().zip(expected) {
            assert!((v - e).abs() < 0.1, "{box_px:?} {expected:?}");
        }
    }
    assert!(a.score > b.score && (b.score - 0.622).abs() < 1e-3);
}

/// Outputs without a network.
struct Fixed(Vec<f32>, [usize; 3]);

impl State for Fixed {
    fn input_mut(&mut self, _: usize) -> PixelsMut<'_> {
        unreachable!("nothing is cropped here")
    }
    fn run(&mut self, _: usize) -> Result<(), InferError> {
        Ok(())
    }
    fn output(&self, _: usize, _: &str) -> Result<(&[f32], &[usize]), InferError> {
        Ok((&self.0, &self.1))
    }
}

#[derive(Deserialize)]
struct Golden {
    stride: f32,
    windows: Vec<usize>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    rows: usize,
    columns: usize,
    logits: Vec<f32>,
    a: f32,
    b: f32,
    c: f32,
    d: f32,
    x: f32,
    y: f32,
    score: f32,
    sigma_net_px: f32,
}

#[test]
fn heat_maps_are_read_as_the_training_s_codec_reads_them() {
    let golden: Golden = serde_json::from_str(include_str!("../golden/heatmap_codec.json")).unwrap();
    assert!(golden.cases.len() >= 10);
    for case in golden.cases {
        let all = |v: f32| format!("[{}]", vec![v.to_string(); JOINTS].join(", "));
        let (w, h) = (case.columns as f32 * golden.stride, case.rows as f32 * golden.stride);
        let codec = format!(
            "[codec]\nkind = \"heatmap\"\noutput = \"out\"\nstride = {}\nrefine = \"hits\"\nwindows = {:?}\nwindow = {}\nactivation = \"softmax\"\n\
             origin = \"cell_centre\"\nscore = {{ a = {}, b = {} }}\nsigma = {{ c = {}, d = {} }}",
            golden.stride,
            golden.windows,
            golden.windows[1],
            all(case.a),
            all(case.b),
            all(case.c),
            all(case.d)
        );
        let manifest =
            tiny::manifest("keypoints", b"", &format!("width = {w}\nheight = {h}"), &codec).unwrap();
        let shape = [JOINTS, case.rows, case.columns];
        let mut decoder =
            Decoder::new(&manifest, &[OutputInfo { name: "out".into(), shape: shape.to_vec() }]).unwrap();
        let maps = Fixed(case.logits.repeat(JOINTS), shape);
        let k = decoder.decode(&maps, 0, 0, &Affine::IDENTITY).unwrap();
        let twice = decoder.decode(&maps, 0, 0, &Affine::scale_then_shift(2.0, 2.0, 0.0, 0.0)).unwrap();
        for (k, twice) in k.joints.iter().zip(&twice.joints) {
            assert!((twice.sigma_px - 2.0 * k.sigma_px).abs() <= 1e-4 * k.sigma_px, "{k:?} {twice:?}");
        }
        for joint in k.joints {
            // The codec counts pixels from their centres, Posewire from their corners.
            let near = |a: f32, b: f32, tolerance: f32| (a - b).abs() <= tolerance;
            assert!(
                near(joint.x_px, case.x + 0.5, 2e-3)
                    && near(joint.y_px, case.y + 0.5, 2e-3)
                    && near(joint.score, case.score, 2e-4)
                    && near(joint.sigma_px, case.sigma_net_px, 1e-3 * case.sigma_net_px.max(1.0)),
                "{}: {joint:?}, not ({}, {}) {} {}",
                case.name,
                case.x + 0.5,
                case.y + 0.5,
                case.score,
                case.sigma_net_px
            );
        }
    }
}

#[test]
fn a_plan_serves_several_threads_at_once() {
    let (manifest, plan) =
        tiny::load("keypoints", &tiny::red_heatmaps(64), SIDE_64, tiny::RED_CODEC).unwrap();
    let plan: Arc<dyn Plan> = plan;
    let rgb = red_squares(640, 480, 24, &[(200, 120)]);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut net = KeypointNet::new(&manifest, &plan).unwrap();
                let boxes = [BoxPx { x: 150.0, y: 60.0, w: 80.0, h: 120.0 }; MAX_PERSONS];
                let mut out = [Keypoints::default(); MAX_PERSONS];
                net.estimate(&picture(&rgb, 640, 480), &boxes, &mut out).unwrap();
                assert!(out.iter().all(|k| (k.joints[0].x_px - 200.0).abs() < 2.0));
            });
        }
    });
}

#[test]
fn nobody_is_found_in_an_empty_map() {
    let (onnx, codec) = (centre_net(&[-9.0; 64]), CENTRE_CODEC);
    let (manifest, plan) = tiny::load("person", &onnx, SIDE_64, codec).unwrap();
    let mut found = vec![PersonBox { box_px: BoxPx::default(), score: 1.0 }];
    let rgb = vec![0; 64 * 64 * 3];
    PersonFinder::new(&manifest, &plan).unwrap().find(&picture(&rgb, 64, 64), &mut found).unwrap();
    assert!(found.is_empty());
}

#[test]
fn a_tracker_is_given_sixteen_of_a_crowd_and_of_a_photo_everybody_is_looked_at() {
    // Somebody in each of 64 cells.
    let (manifest, plan) = tiny::load("person", &boxes_net(&[2.0; 64], 0.5), SIDE_64, CENTRE_CODEC).unwrap();
    let mut finder = PersonFinder::new(&manifest, &plan).unwrap();
    let rgb = vec![0; 640 * 640 * 3];
    let crowd = picture(&rgb, 640, 640);
    let mut found = Vec::new();
    finder.find(&crowd, &mut found).unwrap();
    assert_eq!((found.len(), MAX_FOUND), (16, 16));
    let networks = Networks {
        keypoints: red_net(),
        finder: Some(finder),
        error_model: None,
        name: "tiny".into(),
        engine: String::new(),
        sha256: [0; 32],
    };
    assert_eq!(Stills::of_networks(networks).looks(&crowd).unwrap().len(), 64);
}
