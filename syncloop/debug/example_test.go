package debug_test

import (
	"context"
	"fmt"
	"net"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/debug"

	"net/http/httptest"
)

// A server with bounds for the handler.
func ExampleNewServer() {
	ok := func() error { return nil }
	h, _ := debug.New(debug.Config{Pods: func() []*v1.Pod { return nil }, Health: ok, Ready: ok})
	s, _ := debug.NewServer(debug.ServerConfig{Handler: h})
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // When the program ends.
	fmt.Println(s.Run(ctx, l))
	// Output: <nil>
}

func ExampleNew() {
	ok := func() error { return nil }
	h, _ := debug.New(debug.Config{Pods: func() []*v1.Pod { return nil }, Health: ok, Ready: ok})
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest("GET", "http://localhost/healthz", nil))
	fmt.Println(answer.Code, answer.Body)
	// Output: 200 ok
}

// Other users of the machine reach a port of 127.0.0.1: they get health and metrics only.
func ExampleNewHealth() {
	ok := func() error { return nil }
	h, _ := debug.NewHealth(debug.Config{Health: ok, Ready: ok, PrivatePathsHint: "ask the socket /run/agent.sock"})
	for _, path := range []string{"/healthz", "/pods"} {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest("GET", "http://localhost"+path, nil))
		fmt.Println(answer.Code, answer.Body)
	}
	// Output:
	// 200 ok
	// 403 this address serves health and metrics only, because every user of the machine can reach it; ask the socket /run/agent.sock
}
