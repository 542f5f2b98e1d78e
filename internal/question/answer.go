package question

import (
	"fmt"
	"strings"
)

// Kind is what a person has decided.
type Kind int

// The decisions. No answer is the zero value.
const (
	Allow Kind = iota + 1
	Deny
	Suspend
	Edit   // run with the input of the answer
	Always // run, and do not ask again for the tool
)

// Answer is what a person has said to a call.
type Answer struct {
	Kind   Kind
	Reason string // of Deny
	Input  []byte // of Edit
}

// Offer is what may be answered beside yes and no.
type Offer struct {
	Suspend bool
	Always  bool
	Edit    func(input []byte) error // says what is wrong with other input; nil: not offered
}

// choices lists what may be answered.
func (o Offer) choices(tool string) string {
	list := "[y]es, [n]o REASON"
	if o.Edit != nil {
		list += ", [e]dit JSON"
	}
	if o.Always {
		list += ", [a]lways " + tool
	}
	if o.Suspend {
		list += ", [s]uspend"
	}
	return list
}

// parse reads what a person has typed, or says what is wrong with it.
func (o Offer) parse(tool, line string) (answer Answer, complaint string) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch word = strings.TrimSuffix(strings.ToLower(word), ","); {
	case word == "n" || word == "no":
		return Answer{Kind: Deny, Reason: rest}, ""
	case (word == "y" || word == "yes") && rest == "":
		return Answer{Kind: Allow}, ""
	case (word == "s" || word == "suspend") && rest == "" && o.Suspend:
		return Answer{Kind: Suspend}, ""
	case (word == "a" || word == "always") && (rest == "" || rest == tool) && o.Always:
		return Answer{Kind: Always}, ""
	case (word == "e" || word == "edit") && o.Edit != nil:
		if err := o.Edit([]byte(rest)); err != nil {
			return Answer{}, fmt.Sprintf("%s.", Line(err.Error()))
		}
		return Answer{Kind: Edit, Input: []byte(rest)}, ""
	}
	return Answer{}, "Please answer with one of these."
}
