package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/examples/tour/internal/tourtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) { tourtest.Check(t, run) }
