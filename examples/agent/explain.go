package main

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// runExplain prints why a pod is as it is.
func runExplain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, words, err := clientFlags("explain", args)
	if err == nil && len(words) != 1 {
		err = errors.New("explain needs the name of one pod: explain [NAMESPACE/]NAME (agent ps lists all)")
	}
	if status, bad := refused(err, stdout, stderr); bad {
		return status
	}
	page, err := c.get(ctx, containerPath("explain", words[0], "")...)
	if err != nil {
		return ended(ctx, err, stderr)
	}
	fmt.Fprint(stdout, page)
	return exitOK
}
