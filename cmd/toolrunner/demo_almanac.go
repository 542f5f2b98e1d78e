package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// place is a point on the earth, in degrees north and east.
type place struct {
	name                string
	latitude, longitude float64
}

func places() []place {
	return []place{
		{"Lisbon", 38.7223, -9.1393},
		{"Nairobi", -1.2921, 36.8219},
		{"Reykjavik", 64.1466, -21.9426},
		{"Tromsø", 69.6492, 18.9553},
		{"Wellington", -41.2866, 174.7756},
	}
}

// findPlace returns the place of a name. The error tells a near miss, or what
// there is.
func findPlace(name string) (place, error) {
	var names []string
	for _, p := range places() {
		if strings.EqualFold(p.name, name) {
			return p, nil
		}
		if strings.EqualFold(strings.ReplaceAll(p.name, "ø", "o"), name) {
			return place{}, fmt.Errorf("no place is called %q; did you mean %q?", name, p.name)
		}
		names = append(names, p.name)
	}
	return place{}, fmt.Errorf("no place is called %q; there are %s", name, strings.Join(names, ", "))
}

// distance returns the length of the great circle between two places, in metres.
func distance(a, b place) float64 {
	const earthRadius = 6_371_008.8
	lat1, lat2 := radians(a.latitude), radians(b.latitude)
	h := haversine(lat2-lat1) + math.Cos(lat1)*math.Cos(lat2)*haversine(radians(b.longitude-a.longitude))
	return 2 * earthRadius * math.Asin(math.Sqrt(min(1, h)))
}

func haversine(angle float64) float64 { return math.Pow(math.Sin(angle/2), 2) }

// metres returns the length of a unit.
func metres(unit string) float64 {
	switch unit {
	case "mi":
		return 1609.344
	case "nmi":
		return 1852
	default:
		return 1000
	}
}

// sun is the light of one day at one place.
type sun struct {
	rise, set time.Time // zero if the sun stays up or down
	light     time.Duration
}

// sunAt solves the sunrise equation; it is right to a few minutes.
func sunAt(p place, day time.Time) sun {
	noon := time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, time.UTC)
	j2000 := time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)
	days := noon.Sub(j2000).Hours()/24 - p.longitude/360 // mean solar noon at the place
	anomaly := radians(math.Mod(357.5291+0.98560028*days, 360))
	centre := 1.9148*math.Sin(anomaly) + 0.02*math.Sin(2*anomaly) + 0.0003*math.Sin(3*anomaly)
	ecliptic := anomaly + radians(centre+180+102.9372)
	transit := days + 0.0053*math.Sin(anomaly) - 0.0069*math.Sin(2*ecliptic)
	declination := math.Asin(math.Sin(ecliptic) * math.Sin(radians(23.4397)))

	const horizon = -0.833 // refraction, and the upper edge of the disc
	latitude := radians(p.latitude)
	cosine := (math.Sin(radians(horizon)) - math.Sin(latitude)*math.Sin(declination)) / (math.Cos(latitude) * math.Cos(declination))
	switch {
	case cosine > 1:
		return sun{}
	case cosine < -1:
		return sun{light: 24 * time.Hour}
	}
	half := math.Acos(cosine) / (2 * math.Pi) // of a day
	at := func(days float64) time.Time { return j2000.Add(time.Duration(days * 24 * float64(time.Hour))) }
	return sun{rise: at(transit - half), set: at(transit + half), light: at(transit + half).Sub(at(transit - half))}
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }
