package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop/node"
)

// runPs prints the table of the pods once, or all of them in JSON.
func runPs(ctx context.Context, r *request, stdout, stderr io.Writer) int {
	if r.output == "json" {
		return ended(ctx, r.podsInJSON(ctx, stdout), stderr)
	}
	t := newTable(stdout)
	cells := [][]string{heading()}
	err := r.pods(ctx, func(pod *v1.Pod) { cells = append(cells, t.cells(lineOf(node.PodState{Pod: pod}), pod)) })
	if err != nil {
		return ended(ctx, err, stderr)
	}
	for _, row := range layout(cells, math.MaxInt) {
		fmt.Fprintln(stdout, row)
	}
	if faults := r.faults(ctx); faults != "" {
		fmt.Fprintln(stderr, faults)
	}
	return exitOK
}

// faults describes those of the agent's manifests. An agent that cannot be asked has none.
func (r *request) faults(ctx context.Context) string {
	var all []source.Faults
	answer, err := r.get(ctx, nil, "faults")
	if err != nil || json.Unmarshal([]byte(answer), &all) != nil {
		return ""
	}
	return source.Describe(all)
}

// podsInJSON prints a v1.PodList, pod by pod.
func (r *request) podsInJSON(ctx context.Context, out io.Writer) error {
	const head = `{"apiVersion":"v1","kind":"PodList","items":[`
	var failed error
	before := head // Nothing is printed before the agent has answered.
	err := r.pods(ctx, func(pod *v1.Pod) {
		text, err := json.MarshalIndent(pod, "", "  ")
		if err == nil && failed == nil {
			_, err = fmt.Fprintf(out, "%s\n%s", before, visibleJSON(text))
			before = ","
		}
		if failed == nil {
			failed = err
		}
	})
	if err != nil {
		return err
	}
	if before != head {
		before = ""
	}
	if failed == nil {
		_, failed = fmt.Fprint(out, before+"\n]}\n")
	}
	return failed
}
