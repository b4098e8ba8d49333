package main

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// simulated runs an operator with its nodes in a bubble, where time passes only when all wait.
func simulated(t *testing.T, o *operator, test func(server *apiservertest.Server)) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.New(apiservertest.Config{})
		o.pods, o.nodes, o.every, o.out = server.Admin(), []string{"a", "b"}, max(o.every, time.Second), io.Discard
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, server, o) }()
		test(server)
		stop()
		require.NoError(t, <-ended)
	})
}

// running counts the pods of a node that run.
func running(server *apiservertest.Server, node string) (n int) {
	for _, pod := range server.Admin().Pods(node) {
		if pod.Status.Phase == v1.PodRunning {
			n++
		}
	}
	return n
}

// TestOperator_Spreads, in a bubble: three replicas run, two on one node and one on the other.
func TestOperator_Spreads(t *testing.T) {
	simulated(t, &operator{replicas: 3, script: "run=forever"}, func(server *apiservertest.Server) {
		time.Sleep(10 * time.Second)
		assert.Equal(t, []int{2, 1}, []int{running(server, "a"), running(server, "b")})
	})
}

// TestOperator_ADay, in a bubble: what fails every ten minutes is replaced, for a day, and there are never more.
func TestOperator_ADay(t *testing.T) {
	o := &operator{replicas: 3, script: "run=10m exit=1", every: 30 * time.Second}
	simulated(t, o, func(server *apiservertest.Server) {
		for range 24 {
			time.Sleep(time.Hour)
			assert.LessOrEqual(t, len(server.Admin().Pods("a"))+len(server.Admin().Pods("b")), 2*3)
		}
		assert.InDelta(t, 3*24*6, o.created, 3*24, "one of each in ten minutes and half a minute")
	})
}

// TestOperator_LostAnswers, in a bubble: an API server whose answers get lost makes no pod run twice.
func TestOperator_LostAnswers(t *testing.T) {
	o := &operator{replicas: 2, script: "run=forever"}
	simulated(t, o, func(server *apiservertest.Server) {
		server.Inject(apiservertest.Fault{Verb: "patch", Resource: "pods/status", Times: 3, Lost: true})
		time.Sleep(time.Minute)
		assert.Equal(t, []int{1, 1}, []int{running(server, "a"), running(server, "b")})
		assert.Equal(t, 2, o.created)
	})
}
