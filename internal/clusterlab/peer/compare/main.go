//go:build peer

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"time"

	"k8s.io/klog/v2"
)

func main() {
	rounds := flag.Int("rounds", 5, "`number` of rounds of each row")
	only := flag.String("run", "", "`regular expression` of the rows that are measured")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	exitOnError(err)
	if *rounds < 1 {
		exitOnError(fmt.Errorf("-rounds %d: at least one round is needed", *rounds))
	}
	discardKubeletLog()
	began := time.Now()
	fmt.Printf("%s, %s/%s, %d cores, median of %d rounds in turns; times are processor time, or elapsed time where it is said\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), *rounds)
	writeHead(os.Stdout)
	for _, r := range allRows() {
		if pattern.MatchString(r.name) {
			measureRow(r, *rounds).writeRow(os.Stdout)
		}
	}
	fmt.Printf("\nmeasured in %s\n", time.Since(began).Round(time.Second))
}

// discardKubeletLog formats the kubelet's messages of its default verbosity and discards them.
func discardKubeletLog() {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"} {
		exitOnError(flags.Set(name, value))
	}
	klog.SetOutput(io.Discard)
}
