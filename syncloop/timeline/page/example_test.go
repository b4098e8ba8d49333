package page_test

import (
	"bytes"
	"fmt"
	"time"

	"github.com/podkeel/podkeel/syncloop/timeline"
	"github.com/podkeel/podkeel/syncloop/timeline/page"
)

// A page of one pod.
func ExampleDraw() {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	drawing := timeline.Build([]timeline.Record{
		{At: start, Kind: timeline.KindStatus, Status: &timeline.Status{Pod: "default/web", Phase: "Running", Summary: "1/1 Running"}},
	}, timeline.Options{Now: start.Add(time.Minute)})
	p := page.Draw("web", drawing)
	fmt.Println(bytes.HasPrefix(p.HTML, []byte("<!DOCTYPE html>")), bytes.Contains(p.HTML, []byte("1/1 Running")))
	// Output: true true
}
