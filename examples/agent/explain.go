package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// runExplain prints why a pod is as it is.
func runExplain(args []string, stdout, stderr io.Writer) int {
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
	namespace, name, ok := strings.Cut(words[0], "/")
	if !ok {
		namespace, name = v1.NamespaceDefault, namespace
	}
	page, err := c.get("explain", namespace, name)
	if err != nil {
		complain(stderr, err)
		return exitFailed
	}
	fmt.Fprint(stdout, page)
	return exitOK
}
