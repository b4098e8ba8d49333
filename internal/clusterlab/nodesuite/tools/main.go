// Command tools stands in for programs that the images of the suite have and busybox lacks. Its name selects the program.
//
//   - nmeter prints the time of day in UTC with milliseconds, once; that is how the specs use the applet of busybox.
//   - curl sends a GET request to the last argument, and prints the body. It ignores all flags but --connect-timeout,
//     --max-time and -m, and verifies no certificate.
//   - nc sends its input as one UDP packet to the last two arguments, an address and a port, and prints the packets that it
//     receives within the seconds of -w.
package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	switch filepath.Base(os.Args[0]) {
	case "nmeter":
		fmt.Println(time.Now().UTC().Format("15:04:05.000"))
	case "nc":
		if err := runNetcat(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "nc:", err)
			os.Exit(1)
		}
	default:
		if err := runCurl(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "curl:", err)
			os.Exit(7) // The exit code of curl for a connection that fails.
		}
	}
}

// runNetcat sends the input to a UDP port and prints the packets that it receives until the timeout.
func runNetcat(args []string) error {
	flags := flag.NewFlagSet("nc", flag.ContinueOnError)
	seconds := flags.Int("w", 1, "`seconds` without a packet after which the program exits")
	udp := flags.Bool("u", false, "uses UDP")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if !*udp || flags.NArg() != 2 {
		return errors.New("expected -u, an address and a port")
	}
	conn, err := net.Dial("udp", net.JoinHostPort(flags.Arg(0), flags.Arg(1)))
	if err != nil {
		return err
	}
	defer conn.Close()
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	if _, err := conn.Write(text); err != nil {
		return err
	}
	packet := make([]byte, 65536)
	for {
		if err := conn.SetReadDeadline(time.Now().Add(time.Duration(*seconds) * time.Second)); err != nil {
			return err
		}
		n, err := conn.Read(packet)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(packet[:n]); err != nil {
			return err
		}
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
