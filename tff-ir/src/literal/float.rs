//! Floating-point numbers as numpy prints them: alone, and in columns that line up.

use half::f16;

/// The binary formats that numpy prints.
pub(super) trait Float: Copy {
    /// The value, exactly.
    fn wide(self) -> f64;
    /// The shortest decimal that reads back as this value, as `d.ddde±x`; finite values only.
    fn shortest(self) -> String;
    /// The quotient as this format computes it.
    fn ratio(self, other: Self) -> f64;
}

impl Float for f64 {
    fn wide(self) -> f64 {
        self
    }

    fn shortest(self) -> String {
        format!("{self:e}")
    }

    fn ratio(self, other: Self) -> f64 {
        self / other
    }
}

impl Float for f32 {
    fn wide(self) -> f64 {
        self.into()
    }

    fn shortest(self) -> String {
        format!("{self:e}")
    }

    fn ratio(self, other: Self) -> f64 {
        (self / other).into()
    }
}

impl Float for f16 {
    fn wide(self) -> f64 {
        self.to_f64()
    }

    fn shortest(self) -> String {
        let wide = self.to_f64();
        // Five digits tell all values apart.
        let mut texts = (0..4).map(|digits| format!("{wide:.digits$e}"));
        let same = |text: &String| text.parse().is_ok_and(|value: f64| Self::from_f64(value) == self);
        texts.find(same).unwrap_or_else(|| format!("{wide:.4e}"))
    }

    fn ratio(self, other: Self) -> f64 {
        (self / other).to_f64()
    }
}

/// A decimal number: the digits without the point, and the exponent of the first.
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i32,
}

impl Decimal {
    /// Reads `d.ddde±x`.
    fn read(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let negative = mantissa.starts_with('-');
        let digits = mantissa.chars().filter(char::is_ascii_digit).collect();
        Self { negative, digits, exponent: exponent.parse().unwrap_or(0) }
    }

    /// The digits before and after the point.
    fn positional(&self) -> (String, String) {
        let sign = if self.negative { "-" } else { "" };
        let Ok(exponent) = usize::try_from(self.exponent) else {
            let zeros = usize::try_from(-1 - self.exponent).unwrap_or(0);
            return (format!("{sign}0"), format!("{}{}", "0".repeat(zeros), self.digits));
        };
        let (whole, fraction) = self.digits.split_at_checked(exponent + 1).unwrap_or((&self.digits, ""));
        let zeros = (exponent + 1).saturating_sub(self.digits.len());
        (format!("{sign}{whole}{}", "0".repeat(zeros)), fraction.to_owned())
    }

    /// The digit before and the digits after the point.
    fn scientific(&self) -> (String, String) {
        let (first, rest) = self.digits.split_at_checked(1).unwrap_or((&self.digits, ""));
        (format!("{}{first}", if self.negative { "-" } else { "" }), rest.to_owned())
    }

    /// The exponent with sign and at least so many digits.
    fn exponent_text(&self, digits: usize) -> String {
        let sign = if self.exponent < 0 { '-' } else { '+' };
        format!("{sign}{:0digits$}", self.exponent.unsigned_abs())
    }
}

fn trimmed(fraction: &str) -> String {
    fraction.trim_end_matches('0').to_owned()
}

fn special_text(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("nan")
    } else if value.is_infinite() {
        Some(if value < 0.0 { "-inf" } else { "inf" })
    } else {
        None
    }
}

/// A number that is no member of an array; `whole` is appended where there is no fraction.
pub(super) fn scalar_text<F: Float>(value: F, whole: &str) -> String {
    let wide = value.wide();
    if let Some(text) = special_text(wide) {
        return text.to_owned();
    }
    let decimal = Decimal::read(&value.shortest());
    let size = wide.abs();
    if size == 0.0 || (1e-4..1e16).contains(&size) {
        let (integer, fraction) = decimal.positional();
        return match trimmed(&fraction) {
            fraction if fraction.is_empty() => format!("{integer}{whole}"),
            fraction => format!("{integer}.{fraction}"),
        };
    }
    let (integer, fraction) = decimal.scientific();
    let fraction = trimmed(&fraction);
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{integer}{point}{fraction}e{}", decimal.exponent_text(2))
}

/// A number in at most so many significant digits, as the `%g` of C prints it.
pub(super) fn general_text(value: f32, digits: usize) -> String {
    if let Some(text) = special_text(value.into()) {
        return text.to_owned();
    }
    let decimal = Decimal::read(&format!("{value:.*e}", digits - 1));
    let positional = decimal.exponent >= -4 && usize::try_from(decimal.exponent).map_or(true, |it| it < digits);
    let (integer, fraction) = if positional { decimal.positional() } else { decimal.scientific() };
    let fraction = trimmed(&fraction);
    let point = if fraction.is_empty() { "" } else { "." };
    let exponent = if positional { String::new() } else { format!("e{}", decimal.exponent_text(2)) };
    format!("{integer}{point}{fraction}{exponent}")
}

/// Which signs are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Negative,
    Both,
}

impl Sign {
    fn put(self, text: String) -> String {
        if self == Self::Both && !text.starts_with('-') { format!("+{text}") } else { text }
    }
}

/// How the numbers of an array line up at the point.
pub(super) struct Column {
    sign: Sign,
    scientific: bool,
    /// The width before the point.
    left: usize,
    /// The width after the point.
    right: usize,
    /// How many digits the exponent has.
    exponent: usize,
    /// How many digits follow the point in scientific notation.
    fraction: usize,
}

/// The most digits after the point.
const PRECISION: usize = 8;

impl Column {
    /// The texts of all values, of the same width.
    pub(super) fn words<F: Float>(values: &[F], sign: Sign) -> Vec<String> {
        let column = Self::of(values, sign);
        values.iter().map(|&value| column.word(value)).collect()
    }

    fn of<F: Float>(values: &[F], sign: Sign) -> Self {
        let finite: Vec<F> = values.iter().copied().filter(|it| it.wide().is_finite()).collect();
        let scientific = needs_exponents(&finite);
        let mut column = Self { sign, scientific, left: 0, right: 0, exponent: 0, fraction: 0 };
        for &value in &finite {
            if scientific {
                let decimal = rounded_scientific(value);
                let (integer, fraction) = decimal.scientific();
                column.left = column.left.max(sign.put(integer).len());
                column.fraction = column.fraction.max(trimmed(&fraction).len());
                column.exponent = column.exponent.max(decimal.exponent_text(2).len() - 1);
            } else {
                let (integer, fraction) = rounded_positional(value);
                column.left = column.left.max(sign.put(integer).len());
                column.right = column.right.max(fraction.len());
            }
        }
        if scientific {
            // Mantissa, `e`, sign and exponent.
            column.right = column.fraction + 2 + column.exponent;
        }
        if finite.len() < values.len() {
            let signed_inf = sign == Sign::Both || values.iter().any(|it| it.wide() == f64::NEG_INFINITY);
            let widest = 3 + usize::from(signed_inf);
            column.left = column.left.max(widest.saturating_sub(column.right + 1));
        }
        column
    }

    fn word<F: Float>(&self, value: F) -> String {
        if let Some(text) = special_text(value.wide()) {
            return format!("{:>1$}", self.sign.put(text.to_owned()), self.left + self.right + 1);
        }
        let left = self.left;
        if self.scientific {
            let mut decimal = rounded_scientific(value);
            let digits = self.fraction;
            if decimal.digits.len() <= digits {
                // What fills up the column are not zeros but the next digits of the binary number.
                decimal = Decimal::read(&format!("{:.digits$e}", value.wide()));
            }
            let (integer, fraction) = decimal.scientific();
            let integer = self.sign.put(integer);
            return format!("{integer:>left$}.{fraction:0<digits$.digits$}e{}", decimal.exponent_text(self.exponent));
        }
        let (integer, fraction) = rounded_positional(value);
        let (integer, right) = (self.sign.put(integer), self.right);
        format!("{integer:>left$}.{fraction:<right$}")
    }
}

/// Whether positional notation would be too wide or lose too much.
fn needs_exponents<F: Float>(finite: &[F]) -> bool {
    let non_zero = || finite.iter().copied().filter(|it| it.wide() != 0.0);
    let by_size = |left: &F, right: &F| left.wide().abs().total_cmp(&right.wide().abs());
    let (Some(most), Some(least)) = (non_zero().max_by(by_size), non_zero().min_by(by_size)) else { return false };
    most.wide().abs() >= 1e8 || least.wide().abs() < 1e-4 || most.ratio(least).abs() > 1000.0
}

/// The shortest digits, but no more than [`PRECISION`] after the point.
fn rounded_scientific<F: Float>(value: F) -> Decimal {
    let decimal = Decimal::read(&value.shortest());
    if decimal.digits.len() > PRECISION + 1 {
        return Decimal::read(&format!("{:.PRECISION$e}", value.wide()));
    }
    decimal
}

fn rounded_positional<F: Float>(value: F) -> (String, String) {
    let (integer, fraction) = Decimal::read(&value.shortest()).positional();
    if fraction.len() <= PRECISION {
        return (integer, trimmed(&fraction));
    }
    let text = format!("{:.PRECISION$}", value.wide());
    let (integer, fraction) = text.split_once('.').unwrap_or((&text, ""));
    (integer.to_owned(), trimmed(fraction))
}
