//! Where things stand in a window: the picture as large as it can be, what is said of it beside or below, the log below.

/// Cells of a screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Area {
    pub column: usize,
    pub row: usize,
    pub columns: usize,
    pub rows: usize,
}

/// Where things stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The picture, in its own aspect.
    pub picture: Area,
    /// What is known, one thing a line.
    pub panel: Option<Area>,
    /// What is known, in one line; where there is no room for a panel.
    pub line: Option<Area>,
    /// The log's last lines; may be empty.
    pub log: Area,
}

/// `dropped    0`: a panel is of no use below this.
const PANEL_MIN: usize = 13;
/// Lines of the log can be read in a panel of this width.
const PANEL_WITH_LOG: usize = 40;
/// Between the picture and what stands beside it.
const GAP: usize = 1;
/// What a panel says without the persons.
const PANEL_ROWS: usize = 14;

/// Where things stand in a window of `columns` × `rows` cells, twice as high as wide, round a picture of `image_px`.
pub(super) fn layout(columns: usize, rows: usize, image_px: [usize; 2]) -> Layout {
    let log_rows = if rows < 8 { 0 } else { (rows / 8).clamp(1, 6) };
    let beside = (columns > PANEL_MIN + GAP).then(|| beside(columns, rows, log_rows, image_px));
    let within =
        (columns > PANEL_WITH_LOG + GAP && rows > PANEL_ROWS + 6).then(|| within(columns, rows, image_px));
    let below = below(columns, rows, log_rows, image_px);
    let size = |layout: &Layout| layout.picture.columns * layout.picture.rows;
    let panelled = [beside, within].into_iter().flatten().max_by_key(size);
    // A panel says more than a line, for a tenth of the picture at most.
    panelled.filter(|panelled| 10 * size(panelled) >= 9 * size(&below)).unwrap_or(below)
}

/// Panel on the right, log below both.
fn beside(columns: usize, rows: usize, log_rows: usize, image_px: [usize; 2]) -> Layout {
    let picture = fitted(columns - PANEL_MIN - GAP, rows - log_rows, image_px);
    let column = picture.columns + GAP;
    let panel = Area { column, row: 0, columns: columns - column, rows: picture.rows };
    let log = Area { column: 0, row: picture.rows, columns, rows: rows - picture.rows };
    // Without a log the rest stays free.
    let log = if log_rows == 0 { Area { rows: 0, ..log } } else { log };
    Layout { picture, panel: Some(panel), line: None, log }
}

/// Panel on the right with the log in its lower part: in a very wide window the picture has the whole height.
fn within(columns: usize, rows: usize, image_px: [usize; 2]) -> Layout {
    let picture = fitted(columns - PANEL_WITH_LOG - GAP, rows, image_px);
    let column = picture.columns + GAP;
    let panel = Area { column, row: 0, columns: columns - column, rows: rows - rows / 3 };
    let log = Area { row: panel.rows, rows: rows - panel.rows, ..panel };
    Layout { picture, panel: Some(panel), line: None, log }
}

/// One line below the picture, then the log.
fn below(columns: usize, rows: usize, log_rows: usize, image_px: [usize; 2]) -> Layout {
    let has_line = usize::from(rows > 2);
    let mut picture = fitted(columns, rows.saturating_sub(log_rows + has_line).max(1), image_px);
    picture.column = (columns - picture.columns) / 2;
    let line = Area { column: 0, row: picture.rows, columns, rows: has_line };
    let row = picture.rows + has_line;
    let log = Area { column: 0, row, columns, rows: if log_rows == 0 { 0 } else { rows - row } };
    Layout { picture, panel: None, line: (has_line > 0).then_some(line), log }
}

/// The largest picture in so many cells, in the upper left corner.
fn fitted(columns: usize, rows: usize, [width, height]: [usize; 2]) -> Area {
    let scale = (columns as f64 / width.max(1) as f64).min(2.0 * rows as f64 / height.max(1) as f64);
    let whole = |pixels: f64, most: usize| (pixels.round() as usize).clamp(1, most.max(1));
    Area {
        column: 0,
        row: 0,
        columns: whole(width as f64 * scale, columns),
        rows: whole(height as f64 * scale / 2.0, rows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(a: Area, b: Area) -> bool {
        a.column < b.column + b.columns
            && b.column < a.column + a.columns
            && a.row < b.row + b.rows
            && b.row < a.row + a.rows
    }

    #[test]
    fn nothing_lies_over_anything_or_outside_in_any_window() {
        for image_px in [[640, 480], [1280, 720], [480, 640], [1, 4000], [4000, 1], [0, 0]] {
            for columns in (1..60).chain([80, 100, 200, 1024]) {
                for rows in (1..40).chain([50, 100, 512]) {
                    let found = layout(columns, rows, image_px);
                    let areas = [Some(found.picture), found.panel, found.line, Some(found.log)];
                    let areas: Vec<Area> = areas.into_iter().flatten().filter(|a| a.rows > 0).collect();
                    for (i, a) in areas.iter().enumerate() {
                        let context = format!("{columns}x{rows} {image_px:?}: {found:?}");
                        assert!(a.column + a.columns <= columns && a.row + a.rows <= rows, "{context}");
                        assert!(areas[..i].iter().all(|b| !overlap(*a, *b)), "{context}");
                        assert!(a.columns > 0, "{context}");
                    }
                }
            }
        }
    }

    #[test]
    fn pictures_keep_their_aspect_and_fill_the_window() {
        for (window, image_px) in [((100, 30), [640, 480]), ((60, 20), [640, 480]), ((200, 50), [1280, 720])]
        {
            let Area { columns, rows, .. } = layout(window.0, window.1, image_px).picture;
            let aspect = columns as f64 / (2 * rows) as f64;
            assert!(
                (aspect * image_px[1] as f64 / image_px[0] as f64 - 1.0).abs() < 0.04,
                "{columns}x{rows}"
            );
            assert!(columns * rows * 5 > window.0 * window.1 * 2, "{columns}x{rows} in {window:?}");
        }
    }

    #[test]
    fn wide_windows_have_a_panel_and_high_ones_a_line() {
        let wide = layout(100, 30, [640, 480]);
        assert_eq!(wide.picture, Area { column: 0, row: 0, columns: 72, rows: 27 });
        assert_eq!(wide.panel, Some(Area { column: 73, row: 0, columns: 27, rows: 27 }));
        assert_eq!(wide.log, Area { column: 0, row: 27, columns: 100, rows: 3 });
        let high = layout(40, 50, [640, 480]);
        assert_eq!((high.picture.columns, high.picture.rows, high.panel), (40, 15, None));
        assert_eq!((high.line.map(|line| line.row), high.log.rows), (Some(15), 34));
        // The log may stand beside the picture where that makes it larger.
        let very_wide = layout(200, 50, [640, 480]);
        assert_eq!((very_wide.picture.rows, very_wide.log.column), (50, very_wide.picture.columns + GAP));
    }
}
