package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// runExplain prints why a pod is as it is.
func runExplain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, words, err := clientFlags("explain", args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage())
		return exitOK
	}
	if err == nil && len(words) != 1 {
		err = errors.New("explain needs the name of one pod: explain [NAMESPACE/]NAME (curl " + c.server + "/pods lists all)")
	}
	if err != nil {
		complain(stderr, err)
		return exitUsage
	}
	namespace, name := podOf(words[0])
	page, err := c.get(ctx, "explain", namespace, name)
	if err != nil {
		complain(stderr, err)
		return exitFailed
	}
	fmt.Fprint(stdout, page)
	return exitOK
}

// podOf is the pod that a word names.
func podOf(word string) (namespace, name string) {
	namespace, name, ok := strings.Cut(word, "/")
	if !ok {
		return v1.NamespaceDefault, namespace
	}
	return namespace, name
}
