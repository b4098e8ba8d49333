// Command tools stands in for programs that the images of the suite have and busybox lacks. Its name selects the program.
//
//   - nmeter prints the time of day in UTC with milliseconds, once; that is how the specs use the applet of busybox.
//   - curl sends a GET request to the last argument, and prints the body. It ignores all flags but --connect-timeout,
//     --max-time and -m, and verifies no certificate.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if filepath.Base(os.Args[0]) == "nmeter" {
		fmt.Println(time.Now().UTC().Format("15:04:05.000"))
		return
	}
	if err := runCurl(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "curl:", err)
		os.Exit(7) // The exit code of curl for a connection that fails.
	}
}

// runCurl sends a request and prints the body of the response.
func runCurl(args []string) error {
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	target := ""
	for i := 0; i < len(args); i++ {
		switch {
		case (args[i] == "--connect-timeout" || args[i] == "--max-time" || args[i] == "-m") && i+1 < len(args):
			i++
			seconds, err := strconv.ParseFloat(args[i], 64)
			if err != nil {
				return err
			}
			client.Timeout = time.Duration(seconds * float64(time.Second))
		case !strings.HasPrefix(args[i], "-"):
			target = args[i]
		}
	}
	if !strings.Contains(target, "://") {
		target = "http://" + target
	}
	response, err := client.Get(target)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}
