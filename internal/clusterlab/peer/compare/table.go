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

// result has the figures of one row.
type result struct {
	name             string
	unit             unit
	kubelet, podkeel figure
}

// measureRow measures a row with both drivers, in turns. The kubelet begins the even rounds, and Podkeel the odd rounds.
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
	return result{r.name, r.unit, medianFigure(figures[0]), medianFigure(figures[1])}
}

// medianFigure returns the median of the values and the median of the allocations.
func medianFigure(all []figure) figure {
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

// writeRow writes a line of the table.
func (r result) writeRow(w io.Writer) {
	fmt.Fprintf(w, "| %s | %s | %s | %s |\n", r.name, r.unit.formatFigure(r.kubelet), r.unit.formatFigure(r.podkeel), formatRatio(r.kubelet.value, r.podkeel.value))
}

// formatFigure returns a figure with its unit, and with its allocations if they were measured.
func (u unit) formatFigure(f figure) string {
	var text string
	switch u {
	case nanoseconds:
		text = formatTime(f.value)
	case bytes:
		text = formatNumber(f.value) + " B"
	default:
		text = formatNumber(f.value)
	}
	if f.allocs >= 0 {
		text += fmt.Sprintf(", %s allocations", formatNumber(f.allocs))
	}
	return text
}

// formatTime returns a time in seconds, milliseconds, microseconds or nanoseconds. It uses the largest unit in which the
// time is at least 1.
func formatTime(ns float64) string {
	switch d := time.Duration(ns); {
	case d >= time.Second:
		return formatNumber(ns/1e9) + " s"
	case d >= time.Millisecond:
		return formatNumber(ns/1e6) + " ms"
	case d >= time.Microsecond:
		return formatNumber(ns/1e3) + " µs"
	default:
		return formatNumber(ns) + " ns"
	}
}

// formatNumber returns a number without decimals from 10 on, with one decimal from 1 on, and with two decimals below 1. A
// number from 1 on that is near an integer has no decimals. A number below 0.005 is "0".
func formatNumber(v float64) string {
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

// formatRatio returns the ratio of the kubelet's figure to Podkeel's. It returns a dash if one of them is below 0.005.
func formatRatio(kubelet, podkeel float64) string {
	switch {
	case kubelet < 0.005 || podkeel < 0.005:
		return "–"
	case kubelet >= podkeel:
		return formatNumber(kubelet/podkeel) + " : 1"
	default:
		return "1 : " + formatNumber(podkeel/kubelet)
	}
}
