//go:build peer

package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

// result are the figures of one row.
type result struct {
	name             string
	unit             unit
	kubelet, podkeel figure
}

// measureRow measures a row with both drivers, in turns. The driver that begins changes in each round.
func measureRow(r row, rounds int) result {
	drivers := []driver{kubeletDriver{}, podkeelDriver{}}
	var measures, cleanups [2]func()
	var figures [2][]figure
	for i, d := range drivers {
		measure, cleanup := r.prepare(d)
		measures[i], cleanups[i] = func() { figures[i] = append(figures[i], measure()) }, cleanup
	}
	for round := range rounds {
		for turn := range drivers {
			measures[(round+turn)%len(drivers)]()
		}
	}
	for _, cleanup := range cleanups {
		cleanup()
	}
	return result{r.name, r.unit, median(figures[0]), median(figures[1])}
}

// median returns the median of the values, and of the allocations.
func median(all []figure) figure {
	middle := func(field func(figure) float64) float64 {
		values := make([]float64, len(all))
		for i, f := range all {
			values[i] = field(f)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return figure{middle(func(f figure) float64 { return f.value }), middle(func(f figure) float64 { return f.allocs })}
}

// writeHead writes the head of the table.
func writeHead(w io.Writer) {
	fmt.Fprintf(w, "| what | %s | %s | ratio |\n|---|---|---|---|\n", kubeletDriver{}.name(), podkeelDriver{}.name())
}

// write writes a line of the table.
func (r result) write(w io.Writer) {
	fmt.Fprintf(w, "| %s | %s | %s | %s |\n", r.name, r.unit.format(r.kubelet), r.unit.format(r.podkeel), ratio(r.kubelet.value, r.podkeel.value))
}

// format returns a figure with three digits and its unit.
func (u unit) format(f figure) string {
	var text string
	switch u {
	case nanoseconds:
		text = formatTime(f.value)
	case bytes:
		text = digits(f.value) + " B"
	default:
		text = digits(f.value)
	}
	if f.allocs >= 0 {
		text += fmt.Sprintf(", %s allocations", digits(f.allocs))
	}
	return text
}

// formatTime returns a time in the unit in which it has one to three digits before the point.
func formatTime(ns float64) string {
	switch d := time.Duration(ns); {
	case d >= time.Second:
		return digits(ns/1e9) + " s"
	case d >= time.Millisecond:
		return digits(ns/1e6) + " ms"
	case d >= time.Microsecond:
		return digits(ns/1e3) + " µs"
	default:
		return digits(ns) + " ns"
	}
}

// digits returns a number with two digits, or all digits before the point.
func digits(v float64) string {
	switch {
	case v >= 1 && math.Abs(v-math.Round(v)) < 0.05:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 1:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.005:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return "0"
	}
}

// ratio returns how many times the kubelet's figure is Podkeel's. It returns a dash if one of them is zero.
func ratio(kubelet, podkeel float64) string {
	switch {
	case kubelet < 0.005 || podkeel < 0.005:
		return "–"
	case kubelet >= podkeel:
		return digits(kubelet/podkeel) + " : 1"
	default:
		return "1 : " + digits(podkeel/kubelet)
	}
}
