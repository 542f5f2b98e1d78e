package main

import (
	"math"
	"testing"
	"time"
)

func TestDaylightFollowsTheSun(t *testing.T) {
	tests := []struct {
		name, city, date string
		want             daylightOutput
	}{
		{"the longest day", "Lisbon", "2026-06-21", daylightOutput{"05:12Z", "20:05Z", "14h53m", ""}},
		{"a set after midnight", "Reykjavik", "2026-06-21", daylightOutput{"02:55Z", "00:04Z", "21h9m", ""}},
		{"midnight sun", "Tromsø", "2026-06-21", daylightOutput{"", "", "24h0m", "the sun does not set"}},
		{"polar night", "Tromsø", "2026-12-21", daylightOutput{"", "", "0m", "the sun does not rise"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := daylight(t.Context(), daylightInput{City: tt.city, Date: tt.date})
			if err != nil || got != tt.want {
				t.Errorf("daylight(%s, %s) = %+v, %v, want %+v", tt.city, tt.date, got, err, tt.want)
			}
		})
	}
	if _, err := daylight(t.Context(), daylightInput{City: "Lisbon", Date: "tomorrow"}); err == nil {
		t.Error("daylight of a date that is none: no error")
	}
}

func TestDayAtTheEquatorIsAlwaysTheSame(t *testing.T) {
	equator := place{"", 0, 0}
	for _, date := range []string{"2026-06-21", "2026-12-21"} {
		day, err := time.Parse(time.DateOnly, date)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := sunAt(equator, day).light, 12*time.Hour+7*time.Minute; (got - want).Abs() > time.Minute {
			t.Errorf("light at the equator on %s = %v, want about %v", date, got, want)
		}
	}
}

func TestDistanceIsThatOfTheGreatCircle(t *testing.T) {
	quarter := distance(place{"", 0, 0}, place{"", 90, 0})
	if want := math.Pi / 2 * 6_371_008.8; math.Abs(quarter-want) > 1 {
		t.Errorf("from the equator to the pole: %.0f m, want %.0f", quarter, want)
	}
	for _, tt := range []struct {
		unit string
		want float64
	}{{"km", 2951}, {"mi", 1834}, {"nmi", 1593}} {
		got, err := measure(t.Context(), distanceInput{"Lisbon", "Reykjavik", tt.unit})
		if err != nil || math.Abs(got.Distance-tt.want) > 1 {
			t.Errorf("Lisbon to Reykjavik = %+v, %v, want %v %s", got, err, tt.want, tt.unit)
		}
	}
}
