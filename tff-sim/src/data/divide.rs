//! Which rows of a table belong to which client.

use super::{ClientId, ClientsBy, DataConfig, DataError, Dirichlet, KeyProblem, Shards};
use crate::random::SplitMix64;
use std::collections::HashMap;

type Result<T> = std::result::Result<T, DataError>;

/// How often a division is drawn again in which a client has too few rows.
const MAX_DRAWS: usize = 10;

/// What the rows of a table have in one column, as text.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    /// The different values, in the order in which they occur.
    pub(super) names: Vec<String>,
    /// For each row the position of its value.
    pub(super) of_row: Vec<u32>,
    positions: HashMap<String, u32>,
}

impl Keys {
    /// The value of the next row.
    pub(super) fn push(&mut self, name: &str) {
        let position = match self.positions.get(name) {
            Some(&position) => position,
            None => {
                // There are not more values than rows, whose number was checked.
                let position = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
                self.names.push(name.to_owned());
                self.positions.insert(name.to_owned(), position);
                position
            }
        };
        self.of_row.push(position);
    }

    /// The values of further rows.
    pub(super) fn extend(&mut self, more: &Self) {
        for &position in &more.of_row {
            if let Some(name) = more.names.get(position as usize) {
                self.push(name);
            }
        }
    }

    /// The rows of each value.
    fn rows(&self) -> Vec<Vec<u32>> {
        let mut rows = vec![Vec::new(); self.names.len()];
        for (row, &position) in (0u32..).zip(&self.of_row) {
            if let Some(rows) = rows.get_mut(position as usize) {
                rows.push(row);
            }
        }
        rows
    }
}

/// The clients of a table, with the rows of each in the order of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Division {
    pub(super) ids: Vec<ClientId>,
    pub(super) rows: Vec<Vec<u32>>,
}

/// A table that is to be divided.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    /// What it is called in messages.
    pub(super) name: &'a str,
    pub(super) n_rows: u32,
    /// The column that decides: the client, or the label.
    pub(super) keys: Option<&'a Keys>,
    /// The clients that the format itself has.
    pub(super) own: Option<&'a Keys>,
}

/// Divides the rows as the configuration says.
pub(super) fn divide(config: &DataConfig, table: &Rows<'_>) -> Result<Division> {
    let n_rows = table.n_rows;
    let mut random = SplitMix64::of(config.seed, u64::from(n_rows));
    let min_rows = config.min_rows;
    let numbered = |rows: Vec<Vec<u32>>| Division { ids: (0..rows.len()).map(ClientId::Number).collect(), rows };
    let named =
        |keys: &Keys| Division { ids: keys.names.iter().cloned().map(ClientId::Name).collect(), rows: keys.rows() };
    let Some(by) = &config.clients else {
        let own = table.own.ok_or_else(|| {
            let reason = format!("{} does not say itself which rows belong to which client", table.name);
            KeyProblem::Missing { reason }.at("data.clients")
        })?;
        return Ok(named(own).without_small(min_rows, table.name));
    };
    let keys = || table.keys.ok_or_else(|| KeyProblem::Missing { reason: "it is needed".to_owned() }.at(by.key()));
    if let Some(n_clients) = by.n_clients().filter(|&n_clients| n_clients > n_rows as usize) {
        let expected = format!("at most {n_rows}, the rows of {}", table.name);
        return Err(KeyProblem::expected(expected, n_clients.to_string()).at(by.key()));
    }
    let shuffled = |random: &mut SplitMix64| {
        let mut rows: Vec<u32> = (0..n_rows).collect();
        random.shuffle(&mut rows, n_rows as usize);
        rows
    };
    let division = match by {
        ClientsBy::Column(_) => named(keys()?),
        ClientsBy::Modulo(n_clients) => {
            let n_clients = n_clients.get();
            numbered((0..n_clients).map(|client| (0..n_rows).skip(client).step_by(n_clients).collect()).collect())
        }
        ClientsBy::Iid(n_clients) => {
            let ends = ends_of_shares(n_rows, &vec![1.0; n_clients.get()]);
            numbered(cut(&shuffled(&mut random), &ends))
        }
        ClientsBy::Linear(n_clients) => {
            sized(&shuffled(&mut random), (1..=n_clients.get()).map(|number| number as f64)).map(numbered)?
        }
        ClientsBy::Square(n_clients) => {
            let square = |number: usize| number as f64 * number as f64;
            sized(&shuffled(&mut random), (1..=n_clients.get()).map(square)).map(numbered)?
        }
        ClientsBy::Exponential(n_clients) => {
            // Only ratios count: the largest is 1, so that many clients do not exceed the range of an f64.
            let n_clients = n_clients.get();
            let size = |client: usize| libm::exp(client as f64 - n_clients as f64);
            sized(&shuffled(&mut random), (1..=n_clients).map(size)).map(numbered)?
        }
        ClientsBy::Dirichlet(options) => {
            check_alpha(options.alpha)?;
            let keys = keys()?;
            let mut draws = (0..MAX_DRAWS).map(|_| dirichlet(options, keys, &mut random));
            let is_large = |rows: &Vec<Vec<u32>>| rows.iter().all(|rows| rows.len() >= min_rows);
            return draws.find(is_large).map(numbered).ok_or_else(|| {
                let expected =
                    format!("fewer rows for each client: in {MAX_DRAWS} draws there was always one with less");
                KeyProblem::expected(expected, min_rows.to_string()).at("data.min_rows")
            });
        }
        ClientsBy::Shards(options) => numbered(shards(options, keys()?, table, &mut random)?),
        ClientsBy::List(lists) => numbered(listed(lists, n_rows)?),
    };
    Ok(division.without_small(min_rows, table.name))
}

fn check_alpha(alpha: f64) -> Result<()> {
    if alpha.is_finite() && alpha > 0.0 {
        return Ok(());
    }
    Err(KeyProblem::expected("a number above 0", alpha.to_string()).at("data.clients.dirichlet.alpha"))
}

impl Division {
    /// The clients that have at least so many rows.
    fn without_small(self, min_rows: usize, name: &str) -> Self {
        let n_clients = self.ids.len();
        let (ids, rows): (Vec<_>, Vec<_>) =
            self.ids.into_iter().zip(self.rows).filter(|(_, rows)| rows.len() >= min_rows).unzip();
        if ids.len() < n_clients {
            let left_out = n_clients - ids.len();
            tracing::warn!(
                "{name}: {left_out} of {n_clients} clients have fewer than {min_rows} rows and are left out"
            );
        }
        Self { ids, rows }
    }

    /// Takes a share of each client's rows away, rounded down, and returns it: the choice depends on the seed and the
    /// position of the client alone.
    pub(super) fn hold_out(&mut self, share: f64, seed: u64) -> Self {
        let mut held_out = Vec::new();
        for (client_idx, rows) in self.rows.iter_mut().enumerate() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of the number of rows"
            )]
            let n_held_out = (rows.len() as f64 * share) as usize;
            let mut order: Vec<usize> = (0..rows.len()).collect();
            SplitMix64::of(seed, client_idx as u64).shuffle(&mut order, n_held_out);
            let mut is_held_out = vec![false; rows.len()];
            for &position in order.iter().take(n_held_out) {
                if let Some(flag) = is_held_out.get_mut(position) {
                    *flag = true;
                }
            }
            let of = |wanted: bool| {
                let rows = rows.iter().zip(&is_held_out).filter(|(_, is_held_out)| **is_held_out == wanted);
                rows.map(|(&row, _)| row).collect::<Vec<u32>>()
            };
            let kept = of(false);
            held_out.push(of(true));
            *rows = kept;
        }
        Self { ids: self.ids.clone(), rows: held_out }
    }
}

/// Where each part ends of `n` rows that are cut by these shares, whose sum is above 0.
fn ends_of_shares(n: u32, shares: &[f64]) -> Vec<usize> {
    let total: f64 = shares.iter().sum();
    let mut sum = 0.0;
    let mut ends: Vec<usize> = Vec::with_capacity(shares.len());
    for share in shares {
        sum += share;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and n")]
        ends.push(((sum / total * f64::from(n)).round().clamp(0.0, f64::from(n))) as usize);
    }
    if let Some(last) = ends.last_mut() {
        *last = n as usize;
    }
    ends
}

/// Cuts rows where each part ends; each part is put in ascending order.
fn cut(rows: &[u32], ends: &[usize]) -> Vec<Vec<u32>> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts
        .zip(ends)
        .map(|(start, &end)| {
            let mut part = rows.get(start..end).unwrap_or_default().to_vec();
            part.sort_unstable();
            part
        })
        .collect()
}

/// Parts of sizes in these ratios, rounded down; what is left goes to the last.
fn sized(rows: &[u32], ratios: impl Iterator<Item = f64>) -> Result<Vec<Vec<u32>>> {
    let ratios: Vec<f64> = ratios.collect();
    let total: f64 = ratios.iter().sum();
    let mut end = 0;
    let mut ends = Vec::with_capacity(ratios.len());
    for ratio in &ratios {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the number of rows")]
        let size = (rows.len() as f64 * ratio / total) as usize;
        end = (end + size).min(rows.len());
        ends.push(end);
    }
    if let Some(last) = ends.last_mut() {
        *last = rows.len();
    }
    Ok(cut(rows, &ends))
}

/// Each class is cut by shares of its own, drawn from a Dirichlet distribution over the clients. With
/// [`Dirichlet::balance`], a client that has its part of all rows already gets nothing of further classes.
fn dirichlet(options: &Dirichlet, keys: &Keys, random: &mut SplitMix64) -> Vec<Vec<u32>> {
    let n_clients = options.clients.get();
    let mut clients: Vec<Vec<u32>> = vec![Vec::new(); n_clients];
    let full = keys.of_row.len() as f64 / n_clients as f64;
    for mut rows in keys.rows() {
        let n_rows = rows.len();
        random.shuffle(&mut rows, n_rows);
        let mut shares = random.dirichlet(options.alpha, n_clients);
        if options.balance {
            for (share, client) in shares.iter_mut().zip(&clients) {
                if client.len() as f64 >= full {
                    *share = 0.0;
                }
            }
            // Some client has less than its part, as not all rows are dealt; its share may still be 0.
            if shares.iter().sum::<f64>() <= 0.0 {
                for (share, client) in shares.iter_mut().zip(&clients) {
                    *share = f64::from(u8::from((client.len() as f64) < full));
                }
            }
        }
        let ends = ends_of_shares(u32::try_from(n_rows).unwrap_or(u32::MAX), &shares);
        for (client, part) in clients.iter_mut().zip(cut(&rows, &ends)) {
            client.extend(part);
        }
    }
    clients.iter_mut().for_each(|rows| rows.sort_unstable());
    clients
}

/// The rows, sorted by label, are cut into shards of one size; each client gets so many of them, at random. Rows that
/// fill no shard are in the last one.
fn shards(options: &Shards, keys: &Keys, table: &Rows<'_>, random: &mut SplitMix64) -> Result<Vec<Vec<u32>>> {
    let (n_clients, per_client) = (options.clients.get(), options.shards.get());
    let n_shards = n_clients.checked_mul(per_client).filter(|&n_shards| n_shards <= table.n_rows as usize);
    let Some(n_shards) = n_shards else {
        let expected =
            format!("at most {} for {n_clients} clients of {} rows", table.n_rows as usize / n_clients, table.n_rows);
        return Err(KeyProblem::expected(expected, per_client.to_string()).at("data.clients.shards.shards"));
    };
    let mut order: Vec<usize> = (0..keys.names.len()).collect();
    order.sort_by(|&a, &b| compare_labels(keys.names.get(a), keys.names.get(b)));
    let by_label = keys.rows();
    let sorted: Vec<u32> = order.iter().filter_map(|&label| by_label.get(label)).flatten().copied().collect();
    let size = sorted.len() / n_shards;
    let mut shards: Vec<usize> = (0..n_shards).collect();
    random.shuffle(&mut shards, n_shards);
    let shard = |&shard: &usize| {
        let end = if shard + 1 == n_shards { sorted.len() } else { (shard + 1) * size };
        sorted.get(shard * size..end).unwrap_or_default()
    };
    let client = |chosen: &[usize]| {
        let mut rows: Vec<u32> = chosen.iter().flat_map(shard).copied().collect();
        rows.sort_unstable();
        rows
    };
    Ok(shards.chunks(per_client).map(client).collect())
}

/// Labels as numbers, where they are, else as text.
fn compare_labels(a: Option<&String>, b: Option<&String>) -> std::cmp::Ordering {
    let number = |label: Option<&String>| label.and_then(|label| label.parse::<f64>().ok());
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.cmp(&b),
    }
}

fn listed(lists: &[Vec<u32>], n_rows: u32) -> Result<Vec<Vec<u32>>> {
    for (client, rows) in lists.iter().enumerate() {
        if let Some(row) = rows.iter().find(|&&row| row >= n_rows) {
            let expected = format!("rows below {n_rows}");
            return Err(KeyProblem::expected(expected, row.to_string()).at(format!("data.clients.list[{client}]")));
        }
    }
    Ok(lists.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Divides rows with these labels, row by row.
    #[track_caller]
    fn try_divide(config: &str, labels: &[u32]) -> Result<Division> {
        let config: DataConfig = toml::from_str(&format!("csv = \"d.csv\"\ncolumns = \"x\"\n{config}")).unwrap();
        let mut keys = Keys::default();
        labels.iter().for_each(|label| keys.push(&label.to_string()));
        let n_rows = u32::try_from(labels.len()).unwrap();
        divide(&config, &Rows { name: "d.csv", n_rows, keys: Some(&keys), own: None })
    }

    #[track_caller]
    fn check(config: &str, labels: &[u32]) -> Vec<Vec<u32>> {
        try_divide(config, labels).unwrap().rows
    }

    fn labels(n_rows: u32, n_classes: u32) -> Vec<u32> {
        (0..n_rows).map(|row| row * 7 % n_classes).collect()
    }

    #[track_caller]
    fn assert_partition(rows: &[Vec<u32>], n_rows: u32) {
        let mut all = rows.concat();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..n_rows), "each row belongs to one client");
        assert!(rows.iter().all(|rows| rows.is_sorted()));
    }

    const ALL: [&str; 8] = [
        "modulo = 7",
        "iid = 7",
        "linear = 7",
        "square = 7",
        "exponential = 7",
        "dirichlet = {clients = 7, alpha = 0.5, label = \"y\"}",
        "dirichlet = {clients = 7, alpha = 0.1, label = \"y\", balance = false}",
        "shards = {clients = 7, shards = 2, label = \"y\"}",
    ];

    #[test]
    fn every_row_belongs_to_one_client_and_the_seed_decides_which() {
        let labels = labels(1000, 10);
        for by in ALL {
            let config = |seed: u64| format!("clients = {{{by}}}\nseed = {seed}");
            let first = check(&config(1), &labels);
            assert_eq!(first.len(), 7, "{by}");
            assert_partition(&first, 1000);
            assert_eq!(first, check(&config(1), &labels), "{by}");
            if by != "modulo = 7" {
                assert_ne!(first, check(&config(2), &labels), "{by}");
            }
        }
    }

    #[test]
    fn sizes_follow_their_function() {
        let sizes = |by: &str| {
            check(&format!("clients = {{{by}}}"), &labels(1000, 10)).iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(sizes("iid = 4"), [250, 250, 250, 250]);
        assert_eq!(sizes("iid = 3"), [333, 334, 333]);
        assert_eq!(sizes("linear = 4"), [100, 200, 300, 400]);
        // 1, 4, 9 and 16 of 30, rounded down; what is left goes to the last.
        assert_eq!(sizes("square = 4"), [33, 133, 300, 534]);
        assert_eq!(sizes("exponential = 3"), [90, 244, 666]);
    }

    #[test]
    fn class_shares_follow_the_drawn_dirichlet() {
        let labels = labels(20_000, 4);
        let options = "dirichlet = {clients = 5, alpha = 0.5, label = \"y\", balance = false}";
        let rows = check(&format!("clients = {{{options}}}\nseed = 3"), &labels);
        // The same generator draws the same shares, class by class in the order in which they occur.
        let mut random = SplitMix64::of(3, 20_000);
        for class in [0, 3, 2, 1] {
            let n = labels.iter().filter(|label| **label == class).count();
            random.shuffle(&mut vec![0; n], n);
            let shares = random.dirichlet(0.5, 5);
            for (rows, share) in rows.iter().zip(&shares) {
                let found = rows.iter().filter(|row| labels[**row as usize] == class).count() as f64 / n as f64;
                assert!((found - share).abs() <= 1.0 / n as f64, "{found}, drawn {share}");
            }
        }
    }

    #[test]
    fn a_large_alpha_is_iid_and_a_small_one_has_few_classes() {
        let labels = labels(10_000, 10);
        let classes = |alpha: &str| {
            let by = format!("dirichlet = {{clients = 10, alpha = {alpha}, label = \"y\", balance = false}}");
            let rows = check(&format!("clients = {{{by}}}"), &labels);
            let large = rows.iter().map(|rows| {
                (0..10).filter(|class| rows.iter().filter(|row| labels[**row as usize] == *class).count() > 20).count()
            });
            large.sum::<usize>()
        };
        assert_eq!(classes("1000.0"), 100);
        assert!(classes("0.05") < 30);
    }

    #[test]
    fn balanced_clients_are_of_similar_size() {
        let labels = labels(10_000, 10);
        let largest = |balance: bool| {
            let by = format!("dirichlet = {{clients = 10, alpha = 0.3, label = \"y\", balance = {balance}}}");
            check(&format!("clients = {{{by}}}"), &labels).iter().map(Vec::len).max().unwrap()
        };
        // One class more than its part is the most.
        assert!(largest(true) <= 2000 && largest(true) < largest(false));
    }

    #[test]
    fn a_client_of_shards_has_few_classes() {
        let labels = labels(1000, 10);
        let rows = check("clients = {shards = {clients = 10, shards = 2, label = \"y\"}}", &labels);
        for rows in rows {
            let classes: std::collections::BTreeSet<u32> = rows.iter().map(|row| labels[*row as usize]).collect();
            assert_eq!(rows.len(), 100);
            assert!(classes.len() <= 2, "{classes:?}");
        }
    }

    #[test]
    fn small_clients_are_drawn_again_or_left_out() {
        let labels = labels(100, 10);
        let rows = check("clients = {dirichlet = {clients = 4, alpha = 0.5, label = \"y\"}}\nmin_rows = 10", &labels);
        assert!(rows.iter().all(|rows| rows.len() >= 10));
        let rows = check("clients = {linear = 4}\nmin_rows = 20", &labels);
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [20, 30, 40]);
    }

    #[test]
    fn a_share_of_each_client_is_held_out() {
        let mut division = try_divide("clients = {modulo = 3}", &labels(100, 10)).unwrap();
        let whole = division.rows.clone();
        let held_out = division.hold_out(0.25, 1);
        assert_eq!(held_out.rows.iter().map(Vec::len).collect::<Vec<_>>(), [8, 8, 8]);
        for ((kept, held_out), mut whole) in division.rows.iter().zip(&held_out.rows).zip(whole) {
            whole.retain(|row| !held_out.contains(row));
            assert_eq!(*kept, whole);
        }
        let again = try_divide("clients = {modulo = 3}", &labels(100, 10)).unwrap().hold_out(0.25, 2);
        assert_ne!(held_out.rows, again.rows);
    }

    #[test]
    fn what_cannot_be_divided_is_refused() {
        let error = |config: &str| try_divide(config, &labels(10, 2)).unwrap_err().to_string();
        insta::assert_snapshot!(error("clients = {iid = 11}"), @"data.clients.iid: expected at most 10, the rows of d.csv, found 11");
        insta::assert_snapshot!(error("clients = {dirichlet = {clients = 2, alpha = 0.0, label = \"y\"}}"), @"data.clients.dirichlet.alpha: expected a number above 0, found 0");
        insta::assert_snapshot!(error("clients = {dirichlet = {clients = 2, alpha = 1.0, label = \"y\"}}\nmin_rows = 6"), @"data.min_rows: expected fewer rows for each client: in 10 draws there was always one with less, found 6");
        insta::assert_snapshot!(error("clients = {shards = {clients = 4, shards = 3, label = \"y\"}}"), @"data.clients.shards.shards: expected at most 2 for 4 clients of 10 rows, found 3");
        insta::assert_snapshot!(error("clients = {list = [[0, 1], [10]]}"), @"data.clients.list[1]: expected rows below 10, found 10");
        insta::assert_snapshot!(error(""), @"data.clients: missing, and d.csv does not say itself which rows belong to which client");
    }
}
