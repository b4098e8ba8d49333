package main

import (
	"context"
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
	t := newTable(stdout)
	cells := [][]string{heading()}
	err = c.pods(ctx, func(pod *v1.Pod) { cells = append(cells, t.cells(lineOf(node.PodState{Pod: pod}), pod)) })
	if err != nil {
		return ended(ctx, err, stderr)
	}
	for _, row := range layout(cells, math.MaxInt) {
		fmt.Fprintln(stdout, row)
	}
	return exitOK
}
