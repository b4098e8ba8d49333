// Command nmeter stands in for the applet nmeter of busybox, which some builds of busybox lack. It prints the time of day in
// UTC with milliseconds, once; that is how the specs use the applet.
package main

import (
	"fmt"
	"time"
)

func main() { fmt.Println(time.Now().UTC().Format("15:04:05.000")) }
