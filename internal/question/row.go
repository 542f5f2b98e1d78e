package question

import "strings"

// Words and texts are put into rows here, none of which the terminal has to break.

const (
	margin       = "  "   // before a member
	continuation = "  | " // before what goes on from the row before
	narrowest    = 20
	standard     = 80
)

// rows are what is shown of a call.
type rows struct {
	width int // of a row, at most
	done  []string

	row   strings.Builder
	used  int  // columns of the row
	empty bool // nothing is in the row but what goes before it
}

func newRows(width int) *rows {
	if width <= 0 {
		width = standard
	}
	return &rows{width: max(width, narrowest) - 1} // a full row may move the cursor on
}

// begin begins a row with what goes before its text.
func (r *rows) begin(before string) {
	r.end()
	r.row.WriteString(before)
	r.used, r.empty = len(before), true
}

// end ends the row, if there is one.
func (r *rows) end() {
	if r.row.Len() > 0 {
		r.done = append(r.done, r.row.String())
		r.row.Reset()
	}
	r.used = 0
}

// fits reports whether columns more fit into the row.
func (r *rows) fits(columns int) bool { return r.used+columns <= r.width }

// put adds what must not be broken, on a row of its own if it must be.
func (r *rows) put(text string, columns int) {
	if !r.fits(columns) && (!r.empty || r.used > len(continuation)) {
		r.begin(continuation)
	}
	r.row.WriteString(text)
	r.used += columns
	r.empty = false
}

// word adds text of ours, which is ASCII, and breaks it where it must be.
func (r *rows) word(text string) {
	for _, c := range text {
		r.put(string(c), 1)
	}
}

// quoted adds a text of the model between quotes. What could be missed in it is
// marked or escaped. A line of the text goes on a row of its own. If strict is set,
// only ASCII is shown as it is.
func (r *rows) quoted(text string, strict bool) {
	r.put(`"`, 1)
	before, space := rune(0), 0 // spaces are held back until what follows them is known
	runes := []rune(text)
	for i, c := range runes {
		if c == ' ' {
			space++
			continue
		}
		r.spaces(space, before == 0 || before == '\n' || c == '\n')
		space = 0
		last := i == len(runes)-1
		switch {
		case c == '\n' && !last:
			r.put(`\n`, 2)
			r.begin(continuation)
		case c == '"' || c == '\\' || strict && c > ascii || !shown(c, before):
			text := escape(c)
			r.put(text, len(text))
		default:
			r.put(string(c), columnsOf(c))
		}
		before = c
	}
	r.spaces(space, true)
	r.put(`"`, 1)
}

// spaces adds spaces, of which one between two words of a row is shown as it is.
func (r *rows) spaces(n int, edge bool) {
	const next = 12 // columns that what follows may take, in a surrogate pair of escapes
	if n == 1 && !edge && !r.empty && r.fits(1+next) {
		r.put(" ", 1)
		return
	}
	for range n {
		r.put(spaceMark, columnsOf('·'))
	}
}
