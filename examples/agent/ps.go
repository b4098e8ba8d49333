package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/node"
)

// runPs prints the table of the pods once.
func runPs(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, words, err := clientFlags("ps", args)
	if err == nil && len(words) > 0 {
		err = fmt.Errorf("ps lists all pods, and takes no %q", words[0])
	}
	if status, bad := refused(err, stdout, stderr); bad {
		return status
	}
	body, err := c.get(ctx, "pods")
	var list v1.PodList
	if err == nil {
		if err = json.Unmarshal([]byte(body), &list); err != nil {
			err = fmt.Errorf("the answer of %s is no list of pods: %w", c.server, err)
		}
	}
	if err != nil {
		return ended(ctx, err, stderr)
	}
	t := newTable(stdout)
	cells := [][]string{heading()}
	for i := range list.Items {
		pod := &list.Items[i]
		cells = append(cells, t.cells(lineOf(node.PodState{Pod: pod}), pod))
	}
	for _, row := range layout(cells, math.MaxInt) {
		fmt.Fprintln(stdout, row)
	}
	return exitOK
}
