package shell_test

import (
	"fmt"
	"testing"

	"module.test/shell"
)

func Example() {
	fmt.Println(shell.New())
	fmt.Println(shell.NewWith[int]())
	// Output:
	// <nil>
	// <nil>
}

func ExampleNewDeaf() {
	fmt.Println(shell.NewDeaf())
}

func TestNewMute(t *testing.T) {
	shell.NewMute()
	// Output: this is no example.
}
