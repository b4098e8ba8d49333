package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// result is the result of a spec on a node.
type result struct {
	// Spec is the full name of the spec.
	Spec string
	// Outcome is passed, failed or skipped.
	Outcome string
	// Message is the first line of the failure or the reason to skip.
	Message string
}

// suiteTimeout begins the message of a spec that ran when the time of the suite was over.
const suiteTimeout = "A suite timeout occurred"

// specReport is what this program reads of a report of ginkgo.
type specReport struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	StartTime               string
	Failure                 struct{ Message string }
}

// readReport returns the results of the specs that have run or have skipped themselves, in the order of their names. A
// failure of the suite's own start is an error.
func readReport(file string) ([]result, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var suites []struct{ SpecReports []specReport }
	if err := json.Unmarshal(text, &suites); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var results []result
	for _, suite := range suites {
		for _, s := range suite.SpecReports {
			message := firstLine(s.Failure.Message)
			if s.LeafNodeType != "It" {
				if s.State != "passed" && s.State != "skipped" {
					return nil, fmt.Errorf("%s: %s: %s", s.LeafNodeType, s.State, s.Failure.Message)
				}
				continue
			}
			outcome := s.State
			switch {
			case s.State == "interrupted" || strings.HasPrefix(message, suiteTimeout):
				continue // The run has ended before the spec.
			case s.State == "pending" || s.State == "skipped" && message == "":
				continue // The flags have left it out.
			case s.State != "passed" && s.State != "skipped":
				outcome = "failed" // It has failed, panicked, timed out or was interrupted.
			}
			name := strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " ")
			results = append(results, result{Spec: name, Outcome: outcome, Message: message})
		}
	}
	slices.SortFunc(results, func(a, b result) int { return strings.Compare(a.Spec, b.Spec) })
	return results, nil
}

// firstLine returns the first line of a text that is not empty, and at most 200 bytes of it.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line[:min(len(line), 200)]
		}
	}
	return ""
}

// countOutcomes returns how many specs have which outcome.
func countOutcomes(results []result) string {
	counts := map[string]int{}
	for _, r := range results {
		counts[r.Outcome]++
	}
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[outcome], outcome))
	}
	return fmt.Sprintf("%d specs: %s", len(results), strings.Join(parts, ", "))
}
