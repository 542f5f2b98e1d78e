package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const demoPrompt = "I sail from Lisbon to Reykjavik, then fly on to Tromsø. How long is the day in each of them " +
	"on 21 June 2026, and how long are the two legs in nautical miles?"

// demoScript plays the model. What it says about the world it has from the
// results of the calls, like a model.
func demoScript(pace pace) []toolrunnertest.Reply {
	turns := []func(*toolrunnertest.Request) toolrunnertest.Reply{askAtOnce, correct, conclude}
	replies := make([]toolrunnertest.Reply, len(turns))
	for i, turn := range turns {
		replies[i] = toolrunnertest.Func(func(q *toolrunnertest.Request) toolrunnertest.Reply {
			const perToken = 4 // bytes, roughly
			return turn(q).Usage(len(q.Body)/perToken, 120)
		})
		if pace.typing > 0 {
			replies[i] = replies[i].Delay(pace.thinking).Chunk(4).Trickle(pace.typing)
		}
	}
	return replies
}

// pace is how fast the demo goes; zero is as fast as it can.
type pace struct {
	thinking time.Duration // before a reply begins
	typing   time.Duration // between the events of a stream
	latency  time.Duration // of a tool
}

// askAtOnce makes two mistakes: a name that no place has, and a unit that the
// schema does not have.
func askAtOnce(*toolrunnertest.Request) toolrunnertest.Reply {
	return toolrunnertest.Message(
		toolrunnertest.Thinking("None of this depends on the rest, so it can all run at once.", "c2lnbmF0dXJl"),
		toolrunnertest.Say("I look up the three days and the first leg together."),
		toolrunnertest.Call("toolu_1", "daylight", `{"city":"Lisbon","date":"2026-06-21"}`),
		toolrunnertest.Call("toolu_2", "daylight", `{"city":"Reykjavik","date":"2026-06-21"}`),
		toolrunnertest.Call("toolu_3", "daylight", `{"city":"Tromso","date":"2026-06-21"}`),
		toolrunnertest.Call("toolu_4", "distance", `{"from":"Lisbon","to":"Reykjavik","unit":"nautical miles"}`),
	)
}

var suggestion = regexp.MustCompile(`did you mean "(.+)"\?`)

func correct(q *toolrunnertest.Request) toolrunnertest.Reply {
	north := "Tromso"
	if found := suggestion.FindStringSubmatch(q.ToolResultText("toolu_3")); found != nil {
		north = found[1]
	}
	return toolrunnertest.Message(
		toolrunnertest.Say(fmt.Sprintf("Two slips of mine: the city is %s, and the unit is nmi. Once more:", north)),
		toolrunnertest.Call("toolu_5", "daylight", fmt.Sprintf(`{"city":%q,"date":"2026-06-21"}`, north)),
		toolrunnertest.Call("toolu_6", "distance", `{"from":"Lisbon","to":"Reykjavik","unit":"nmi"}`),
		toolrunnertest.Call("toolu_7", "distance", fmt.Sprintf(`{"from":"Reykjavik","to":%q,"unit":"nmi"}`, north)),
	)
}

func conclude(q *toolrunnertest.Request) toolrunnertest.Reply {
	days := make([]daylightOutput, 3)
	for i, id := range []string{"toolu_1", "toolu_2", "toolu_5"} {
		if err := json.Unmarshal([]byte(q.ToolResultText(id)), &days[i]); err != nil {
			return toolrunnertest.Text("I could not find out how long the days are.")
		}
	}
	legs := make([]distanceOutput, 2)
	for i, id := range []string{"toolu_6", "toolu_7"} {
		if err := json.Unmarshal([]byte(q.ToolResultText(id)), &legs[i]); err != nil {
			return toolrunnertest.Text("I could not find out how long the legs are.")
		}
	}
	return toolrunnertest.Text(fmt.Sprintf(
		"On 21 June the day in Lisbon lasts %s (%s to %s), in Reykjavik %s (%s to %s), and in Tromsø %s: %s. "+
			"You sail %.0f nautical miles to Reykjavik and fly another %.0f to Tromsø, %.0f in all.",
		days[0].Daylight, days[0].Sunrise, days[0].Sunset, days[1].Daylight, days[1].Sunrise, days[1].Sunset,
		days[2].Daylight, days[2].Note, legs[0].Distance, legs[1].Distance, legs[0].Distance+legs[1].Distance,
	))
}
