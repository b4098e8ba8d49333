package main

import (
	"context"
	"io"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/examples/tour/internal/tourtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	tourtest.Check(t, func(clk clock.Clock, out io.Writer) { run(context.Background(), clk, out) })
}
