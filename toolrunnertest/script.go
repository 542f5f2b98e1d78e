package toolrunnertest

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Script reads the replies of a script in a file. [ParseScript] describes the format.
func Script(path string) ([]Reply, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("toolrunnertest: %w", err)
	}
	return ParseScript(path, string(text))
}

// ParseScript reads a conversation in plain text. The path names the file in errors, and files that the script names are
// relative to it.
//
//	# The user asks for the weather.
//	> user How is the weather in Paris?
//	> tool get_weather
//	< text Let me look.
//	< call toolu_1 get_weather {"city":"Paris"}
//
//	> result toolu_1 18 degrees
//	< text It is 18 degrees.
//
// A paragraph is a turn: what its request has to be, then the reply. Lines that begin with # are comments.
//
//	> user TEXT              the last message of the user contains this; see HasText
//	> result ID TEXT         the result of a call contains this; see HasResult
//	> error ID TEXT          the same, and it is an error
//	> model NAME             the model is this
//	> tool NAME              a tool of this name is offered
//	> body TEXT              the body contains this
//	? ...                    the same, but other requests pass the turn over; see Reply.When
//
//	< text TEXT              a block of the reply; see Say
//	< thinking SIGNATURE TEXT
//	< call ID NAME INPUT     the input is JSON, {} if it is left out; see Call
//	< server-call ID NAME INPUT
//	< block JSON             any other block; see RawBlock
//	< file PATH              a recorded reply; see File
//	< json JSON              the same, in place
//	< status CODE TYPE TEXT  an error of the API; see Status
//
//	< stop REASON            what the method of Reply of that name does
//	< stop-sequence TEXT     ... and so on
//	< usage IN OUT
//	< id ID
//	< model NAME
//	< container ID
//	< header NAME VALUE
//	< retry-after 2s
//	< delay 2s
//	< trickle 50ms
//	< chunk BYTES
//	< cut BYTES
//	< end-after EVENTS
//	< error-after EVENTS TYPE TEXT
//
//	ignore RULE ...          switches rules off, by name; see Server.Ignore
//
// TEXT is the rest of the line, or a JSON string, which can hold outer spaces and more. A line that begins with | goes on
// with the one before it, after a line break if there is something to go on with.
func ParseScript(path, text string) ([]Reply, error) {
	p := scriptParser{path: path}
	lines, err := scriptLines(text)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	for _, line := range lines {
		if err := p.add(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, line.number, err)
		}
	}
	if len(p.turns) == 0 {
		return nil, fmt.Errorf("%s: there is no turn", path)
	}
	replies := make([]Reply, len(p.turns))
	for i, turn := range p.turns {
		replies[i] = turn.reply()
	}
	replies[0].ignore = p.ignore
	return replies, nil
}

// scriptLine is a line of a script with the lines that continue it; mark is '>', '?', '<', 'i' for ignore, or 0 where a
// paragraph ends.
type scriptLine struct {
	number  int
	mark    byte
	keyword string
	rest    string
}

func (l *scriptLine) proceed(more string) {
	if l.rest != "" {
		l.rest += "\n"
	}
	l.rest += more
}

func scriptLines(text string) ([]scriptLine, error) {
	var lines []scriptLine
	number := 0
	for raw := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		number++
		line := strings.TrimSuffix(raw, "\r")
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "":
			lines = append(lines, scriptLine{number: number})
		case trimmed[0] == '#':
		case trimmed[0] == '|':
			if len(lines) == 0 || lines[len(lines)-1].mark == 0 {
				return nil, fmt.Errorf("%d: there is no line that this one continues", number)
			}
			_, more, _ := strings.Cut(line, "|")
			lines[len(lines)-1].proceed(strings.TrimPrefix(more, " "))
		case strings.IndexByte("<>?", trimmed[0]) >= 0:
			keyword, rest := cutWord(strings.TrimSpace(trimmed[1:]))
			lines = append(lines, scriptLine{number, trimmed[0], keyword, rest})
		default:
			if keyword, rest := cutWord(trimmed); keyword == "ignore" {
				lines = append(lines, scriptLine{number, 'i', "ignore", rest})
				continue
			}
			return nil, fmt.Errorf("%d: a line begins with <, >, ?, |, # or ignore", number)
		}
	}
	return append(lines, scriptLine{number: number}), nil
}

type scriptParser struct {
	path   string
	turns  []*scriptTurn
	ended  bool // the last turn's paragraph is over
	ignore []Rule
}

func (p *scriptParser) add(line scriptLine) error {
	switch line.mark {
	case 0:
		if len(p.turns) > 0 && !p.ended && p.turns[len(p.turns)-1].open() {
			return errors.New("the turn before has no reply")
		}
		p.ended = true
		return nil
	case 'i':
		var rules []Rule
		for name := range strings.FieldsSeq(strings.ReplaceAll(line.rest, ",", " ")) {
			rules = append(rules, Rule(name))
		}
		p.ignore = append(p.ignore, rules...)
		return checkNames(rules, serverRules())
	}
	if len(p.turns) == 0 || p.ended {
		p.turns = append(p.turns, &scriptTurn{path: p.path})
		p.ended = false
	}
	turn := p.turns[len(p.turns)-1]
	if line.mark == '<' {
		return turn.answer(line.keyword, line.rest)
	}
	if !turn.open() {
		return errors.New("what a request has to be comes before the reply; an empty line begins the next turn")
	}
	condition, err := scriptCondition(line.keyword, line.rest)
	if line.mark == '?' {
		turn.when = append(turn.when, condition)
	} else {
		turn.expect = append(turn.expect, condition)
	}
	return err
}
