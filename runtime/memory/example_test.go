package memory_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// A container runs for as long as its script says, by the clock it is given.
func ExampleNew() {
	ctx := context.Background()
	clk := clocktesting.NewFakeClock(time.Unix(0, 0))
	rt := memory.New(memory.Config{Clock: clk, Images: []string{"job"}})
	pod := runtime.PodRef{UID: "1", Name: "job", Namespace: "default"}

	sandbox, _ := rt.RunSandbox(ctx, runtime.RunSandboxRequest{Pod: pod, Annotations: map[string]string{
		"memory.podkeel.dev/main": "run=10s exit=3",
	}})
	id, _ := rt.CreateContainer(ctx, runtime.CreateContainerRequest{Pod: pod, SandboxID: sandbox, Name: "main", Image: "job"})
	_ = rt.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id})

	for range 3 {
		st, _ := rt.PodStatus(ctx, pod.UID)
		c := st.Containers[0]
		fmt.Printf("%ds %s %d %q\n", clk.Now().Unix(), c.State, c.ExitCode, c.Reason)
		clk.Step(5 * time.Second)
	}
	// Output:
	// 0s running 0 ""
	// 5s running 0 ""
	// 10s exited 3 "Error"
}

// What a script may say is said by the error about one that cannot be read.
func ExampleParseScript() {
	script, _ := memory.ParseScript("fail=image; run=1m30s exit=1; ignore-term")
	fmt.Println(script)
	_, err := memory.ParseScript("run=10s; exti=1")
	fmt.Println(err)
	// Output:
	// run=forever fail=image; run=1m30s exit=1; run=forever ignore-term
	// memory: bad script: run 2: "exti=1": not a word of a script; allowed are run=<duration>|forever, exit=<0..255>, start-delay=<duration>, ignore-term, fail=image|create|start, print=<text>, print@<duration>=<text>, reason=<word>, message=<text>, cpu|memory|disk|receive|transmit=<quantity>, memory@<duration>=<quantity>
}

// A program of your own has all streams, for kubectl exec -it as for a test.
func ExampleRuntime_SetCommand() {
	ctx := context.Background()
	rt := memory.New(memory.Config{Images: []string{"db"}})
	rt.SetCommand(memory.Selector{Container: "db"}, "psql", func(ctx context.Context, p *memory.Process) int32 {
		for lines := bufio.NewScanner(p.Stdin); lines.Scan(); {
			fmt.Fprintf(p.Stdout, "%s: 1 row\n", lines.Text())
		}
		return 0
	})
	pod := runtime.PodRef{UID: "1", Name: "db", Namespace: "default"}
	sandbox, _ := rt.RunSandbox(ctx, runtime.RunSandboxRequest{Pod: pod})
	id, _ := rt.CreateContainer(ctx, runtime.CreateContainerRequest{Pod: pod, SandboxID: sandbox, Name: "db", Image: "db"})
	_ = rt.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id})

	code, err := rt.ExecStream(ctx, runtime.ExecStreamRequest{ContainerID: id, Command: []string{"psql", "-l"}}, runtime.Streams{
		Stdin: strings.NewReader("SELECT 1\nSELECT 2\n"), Stdout: os.Stdout,
	})
	fmt.Println(code, err)
	// Output:
	// SELECT 1: 1 row
	// SELECT 2: 1 row
	// 0 <nil>
}
