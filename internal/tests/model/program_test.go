package model

import (
	"fmt"
	"strings"
)

// step is one line of a program: a site, and what happens there. A site is
//
//	setup         before the runner is made
//	reply         the server's next answer to a request for a turn
//	summary       its next answer to a request to compact
//	thread        what its memory of threads does to a request of one
//	main          the program that owns the runner
//	body N        the loop body of the Nth turn that any loop hands out
//	call ID       the handler of the calls that the server sent with this id
//	ask ID        the approver, asked about such a call
//	checkpoint N  the Nth call of the checkpoint
//
// The steps of a site happen in their order, whatever stands between them, so
// that a program without one of its steps is a program, too.
type step struct{ at, do string }

type program []step

// String returns the program as Go source, for a regression test.
func (p program) String() string {
	var b strings.Builder
	b.WriteString("program{\n")
	for _, s := range p {
		fmt.Fprintf(&b, "\t{%q, %q},\n", s.at, s.do)
	}
	b.WriteString("}")
	return b.String()
}

// sites returns what happens at each site.
func (p program) sites() map[string][]string {
	sites := make(map[string][]string, len(p))
	for _, s := range p {
		sites[s.at] = append(sites[s.at], s.do)
	}
	return sites
}

// shrink returns the smallest program that it finds for which fails is true:
// without steps, and with less in those that are left.
func shrink(p program, fails func(program) bool) program {
	for {
		before := p.String()
		p = withoutSteps(p, fails)
		p = withSimplerSteps(p, fails)
		if p.String() == before {
			return p
		}
	}
}

// withoutSteps takes out runs of steps, long ones first.
func withoutSteps(p program, fails func(program) bool) program {
	for size := len(p) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(p); {
			if less := concat(p[:at], p[at+size:]); fails(less) {
				p = less
			} else {
				at++
			}
		}
	}
	return p
}

// withSimplerSteps takes blocks and flags out of replies, and arguments out of
// other steps.
func withSimplerSteps(p program, fails func(program) bool) program {
	for at := range p {
		for _, do := range simpler(p[at]) {
			less := concat(p[:at], program{{p[at].at, do}}, p[at+1:])
			if len(do) < len(p[at].do) && fails(less) {
				p = less
			}
		}
	}
	return p
}

// simpler returns steps with less in them.
func simpler(s step) []string {
	var all []string
	if s.at == "reply" {
		r := parseReply(s.do)
		for i := range r.blocks {
			less := r
			less.blocks = concat(r.blocks[:i], r.blocks[i+1:])
			all = append(all, less.String())
		}
		for i := range r.flags {
			less := r
			less.flags = concat(r.flags[:i], r.flags[i+1:])
			all = append(all, less.String())
		}
		return all
	}
	words := strings.Fields(s.do)
	for i := range words {
		if i > 0 {
			all = append(all, strings.Join(concat(words[:i], words[i+1:]), " "))
		}
	}
	return all
}

func concat[S ~[]E, E any](parts ...S) S {
	var all S
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}
