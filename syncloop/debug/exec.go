package debug

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// CommandRunner is the part of node.Containers that /exec uses. The methods are called
// concurrently.
type CommandRunner interface {
	ContainerFinder
	runtime.ExecStreamer
}

// execHandler runs a command in a container and answers with what it prints, as it comes,
// and then with its code.
func execHandler(runner CommandRunner) http.HandlerFunc {
	commands := &streamer{finder: runner, gate: respond.Gate{Most: maxCommands}}
	return func(w http.ResponseWriter, r *http.Request) {
		if why := rejectionReason(r); why != "" {
			respond.WriteText(w, http.StatusForbidden, why+"\n")
			return
		}
		if runner == nil {
			respond.WriteText(w, http.StatusForbidden, "this node runs no commands for people, unless its operator allows it\n")
			return
		}
		command := r.URL.Query()["command"]
		if len(command) == 0 {
			respond.WriteText(w, http.StatusBadRequest, "there is no command: give its words as ?command=ls&command=-l\n")
			return
		}
		var code int32
		complete := commands.serve(w, r, false, func(id string, s io.Writer) (err error) {
			out := &sharedWriter{w: s}
			code, err = runner.ExecStream(r.Context(), runtime.ExecStreamRequest{ContainerID: id, Command: command}, runtime.Streams{Stdout: out, Stderr: out})
			return err
		})
		if complete {
			w.Header().Set(ExitCodeTrailer, strconv.Itoa(int(code)))
		}
	}
}

// sharedWriter is one place for two streams.
type sharedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (b *sharedWriter) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.w.Write(p)
}

// rejectionReason says why a request is not one of a person at this machine. A page in
// his browser is not he: it cannot leave out Origin, nor choose another Host than
// the name by which it has come here.
func rejectionReason(r *http.Request) string {
	switch {
	case !isLocalPeer(r):
		return "commands are run for people at this machine only, who ask its loopback address"
	case !isLoopback(hostWithoutPort(r.Host)):
		return "commands are run for who asks a loopback address, not a name"
	case r.Header.Get("Origin") != "", r.Header.Get("Sec-Fetch-Site") != "":
		return "commands are not run for pages in a browser"
	case isForwarded(r.Header):
		return "commands are not run for a proxy: its clients may be on other machines"
	}
	return ""
}

// isForwarded reports whether a proxy has sent a request for another client. A proxy on this
// machine connects from a loopback address, and so would everybody who reaches the proxy.
func isForwarded(h http.Header) bool {
	for name := range h {
		if forwardingHeaders[name] || slices.ContainsFunc(forwardingPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			return true
		}
	}
	return false
}

// forwardingPrefixes begin the names of such headers.
var forwardingPrefixes = []string{"Forwarded", "X-Forwarded", "X-Original-", "X-Originating-", "X-Envoy-"}

// forwardingHeaders are headers that proxies add to the requests of their clients, in the
// canonical form.
var forwardingHeaders = map[string]bool{
	"Via": true, "X-Real-Ip": true, "X-Client-Ip": true, "X-Cluster-Client-Ip": true, "Client-Ip": true,
	"True-Client-Ip": true, "Cf-Connecting-Ip": true, "Fastly-Client-Ip": true, "X-Remote-Addr": true, "X-Remote-Ip": true,
	"X-Host": true, "X-Proxyuser-Ip": true, "Cdn-Loop": true,
}

// isLocalPeer: the peer is on a loopback address, or on a socket in the file system.
func isLocalPeer(r *http.Request) bool {
	return isUnixSocket(r) || isLoopback(hostWithoutPort(r.RemoteAddr))
}

// hostWithoutPort leaves a port out.
func hostWithoutPort(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
