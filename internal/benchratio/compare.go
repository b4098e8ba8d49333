package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// limit is how many times a figure may exceed the recorded one.
const limit = 1.5

// result is the result of one benchmark: the smallest values of its repetitions. Other work of the machine disturbs the
// smallest value least.
type result struct {
	nanoseconds float64 // per operation
	allocations float64 // per operation, NaN if the benchmark does not report them
}

// parseBenchmarkOutput parses the output of go test -bench. The key of a result is the last element of the package path
// and the name of the benchmark: podworkers.Dispatch, pleg.RelistUnchanged/n=110. A benchmark that ran several
// times has the smallest values.
func parseBenchmarkOutput(r io.Reader) (map[string]result, error) {
	results := map[string]result{}
	var folder string
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if path, ok := strings.CutPrefix(lines.Text(), "pkg: "); ok {
			folder = path[strings.LastIndex(path, "/")+1:]
			continue
		}
		words := strings.Fields(lines.Text())
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		key := folder + "." + benchmarkName(words[0])
		now := result{math.NaN(), math.NaN()}
		for i := 2; i+1 < len(words); i += 2 {
			value, err := strconv.ParseFloat(words[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q of %s is no number", words[i], key)
			}
			switch words[i+1] {
			case "ns/op":
				now.nanoseconds = value
			case "allocs/op":
				now.allocations = value
			}
		}
		if before, ok := results[key]; ok {
			now = result{min(before.nanoseconds, now.nanoseconds), min(before.allocations, now.allocations)}
		}
		results[key] = now
	}
	return results, lines.Err()
}

// benchmarkName removes the word "Benchmark" and, at the end, a dash and the number of processors.
func benchmarkName(word string) string {
	name := strings.TrimPrefix(word, "Benchmark")
	if i := strings.LastIndex(name, "-"); i >= 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			return name[:i]
		}
	}
	return name
}

// figure is one recorded figure: allocations of a benchmark, or a ratio of two.
type figure struct {
	kind  string // "ratio" or "allocs"
	names []string
	value float64
}

// String returns the line of the figure without its value.
func (c figure) String() string { return c.kind + " " + strings.Join(c.names, " ") }

// computeFrom computes the figure from the results of a run: the allocations of one benchmark, or the ratio of
// the times of two. It returns an error if the run lacks a result.
func (c figure) computeFrom(results map[string]result) (float64, error) {
	var values []float64
	for _, name := range c.names {
		r, ok := results[name]
		value := r.nanoseconds
		if c.kind == "allocs" {
			value = r.allocations
		}
		if !ok || math.IsNaN(value) {
			return 0, fmt.Errorf("%s: the run has no %s", c, name)
		}
		values = append(values, value)
	}
	if c.kind == "allocs" {
		return values[0], nil
	}
	return values[0] / values[1], nil
}

// line is a line of the file: a figure or a comment.
type line struct {
	text   string
	figure *figure
}

// recording is the content of the file with recorded figures.
type recording []line

// parseRecordedFigures parses a file with the lines "ratio A B VALUE", "allocs A VALUE" and comments with #. It
// returns an error for any other line, and for a file without a figure.
func parseRecordedFigures(text string) (recording, error) {
	var all recording
	found := false
	for i, t := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		words := strings.Fields(t)
		if len(words) == 0 || words[0] == "#" {
			all = append(all, line{text: t})
			continue
		}
		want := map[string]int{"ratio": 4, "allocs": 3}[words[0]]
		if len(words) != want {
			return nil, fmt.Errorf("line %d: %q is neither \"ratio A B VALUE\" nor \"allocs A VALUE\"", i+1, t)
		}
		value, err := strconv.ParseFloat(words[want-1], 64)
		if err != nil || value < 0 {
			return nil, fmt.Errorf("line %d: %q is no value", i+1, words[want-1])
		}
		all = append(all, line{figure: &figure{words[0], words[1 : want-1], value}})
		found = true
	}
	if !found {
		return nil, errors.New("no figure is recorded")
	}
	return all, nil
}

// allFigures returns the recorded figures in the order of the file, without its comments.
func (r recording) allFigures() []figure {
	var all []figure
	for _, l := range r {
		if l.figure != nil {
			all = append(all, *l.figure)
		}
	}
	return all
}

// updatedText returns the text of the file with the figures computed from new results. It writes no file.
func (r recording) updatedText(results map[string]result) (string, error) {
	var out strings.Builder
	for _, l := range r {
		if l.figure == nil {
			fmt.Fprintln(&out, l.text)
			continue
		}
		now, err := l.figure.computeFrom(results)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s %.2f\n", l.figure, now)
	}
	return out.String(), nil
}
