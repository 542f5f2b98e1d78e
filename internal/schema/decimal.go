package schema

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// maxIntegerDigits bounds what counts as an integer: 1e1000000 would take a megabyte to write out.
const maxIntegerDigits = 10_000

// decimal is a JSON number without loss: 0.digits times ten to the power of exp. Zero has no digits and no sign.
type decimal struct {
	neg    bool
	digits string // no zero at either end
	exp    int
}

// parseDecimal reads the text of a JSON number.
func parseDecimal(s string) decimal {
	s, neg := strings.CutPrefix(s, "-")
	exp := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp = parseExponent(s[i+1:])
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	digits := whole
	if fraction != "" {
		digits += fraction
	}
	significant := strings.TrimLeft(digits, "0")
	if significant == "" {
		return decimal{}
	}
	return decimal{
		neg:    neg,
		digits: strings.TrimRight(significant, "0"),
		exp:    exp + len(whole) - (len(digits) - len(significant)),
	}
}

// parseExponent keeps the exponent in a range in which sums cannot overflow.
func parseExponent(s string) int {
	const largest = 1 << 30
	n, err := strconv.Atoi(s)
	switch {
	case err != nil && strings.HasPrefix(s, "-"):
		return -largest
	case err != nil:
		return largest
	}
	return max(-largest, min(n, largest))
}

func (d decimal) compare(e decimal) int {
	if d.sign() != e.sign() {
		return cmp.Compare(d.sign(), e.sign())
	}
	// Without zeros at the ends, the order of equally large digit strings is the order of text.
	size := cmp.Or(cmp.Compare(d.exp, e.exp), strings.Compare(d.digits, e.digits))
	if d.neg {
		return -size
	}
	return size
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// isInteger reports whether d has no fraction, however it was written: 1.0 and 1e3 have none.
func (d decimal) isInteger() bool {
	return d.exp >= len(d.digits) && d.exp <= maxIntegerDigits
}

// integer writes an integer with plain digits.
func (d decimal) integer() string {
	if d.digits == "" {
		return "0"
	}
	s := d.digits + strings.Repeat("0", d.exp-len(d.digits))
	if d.neg {
		return "-" + s
	}
	return s
}

// isMultiple reports whether the number is a whole multiple of the other one. Numbers of more than a few hundred
// digits, for which the exact answer costs too much, pass.
func isMultiple(number, of string) bool {
	for _, s := range []string{number, of} {
		if d := parseDecimal(s); d.exp < -400 || d.exp > 400 || len(d.digits) > 400 {
			return true
		}
	}
	n, okNumber := new(big.Rat).SetString(number)
	m, okOf := new(big.Rat).SetString(of)
	if !okNumber || !okOf || m.Sign() == 0 {
		return true
	}
	return n.Quo(n, m).IsInt()
}
