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

// runPs prints the table of the pods once, or all pods as JSON, and returns the exit code. After the table it
// prints the faults of the agent's manifests to stderr.
func runPs(ctx context.Context, r *request, stdout, stderr io.Writer) int {
	if r.output == "json" {
		return printRequestError(ctx, r.printPodsJSON(ctx, stdout), stderr)
	}
	t := newRowPrinter(stdout)
	cells := [][]string{columnHeadings()}
	err := r.forEachPod(ctx, func(pod *v1.Pod) { cells = append(cells, t.rowCells(podRowOf(node.PodState{Pod: pod}), pod)) })
	if err != nil {
		return printRequestError(ctx, err, stderr)
	}
	for _, row := range formatColumns(cells, math.MaxInt) {
		fmt.Fprintln(stdout, row)
	}
	if faults := r.manifestFaults(ctx); faults != "" {
		fmt.Fprintln(stderr, faults)
	}
	return exitOK
}

// manifestFaults returns a description of the faults in the agent's manifests. It returns "" if there are none
// or the request fails.
func (r *request) manifestFaults(ctx context.Context) string {
	var all []source.Faults
	answer, err := r.getBodyOfOK(ctx, nil, "faults")
	if err != nil || json.Unmarshal([]byte(answer), &all) != nil {
		return ""
	}
	return source.Describe(all)
}

// printPodsJSON prints a v1.PodList, each pod as it arrives. It prints nothing if no agent answers. After an
// error in the middle the output is incomplete.
func (r *request) printPodsJSON(ctx context.Context, out io.Writer) error {
	const head = `{"apiVersion":"v1","kind":"PodList","items":[`
	var failed error
	before := head // Nothing is printed before the agent has answered.
	err := r.forEachPod(ctx, func(pod *v1.Pod) {
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
