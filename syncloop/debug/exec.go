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

// CommandRunner is the part of node.Containers that /exec uses. Its methods are called concurrently.
type CommandRunner interface {
	ContainerFinder
	runtime.ExecStreamer
}

// execHandler returns the handler of /exec, which runs a command in a container and streams its output. The
// exit code follows in a trailer. It responds with 403 if execRejectionReason rejects the request or runner is
// nil, and with 400 if the command is missing.
func execHandler(runner CommandRunner) http.HandlerFunc {
	commands := &streamer{finder: runner, gate: respond.Gate{Most: maxCommands}}
	return func(w http.ResponseWriter, r *http.Request) {
		if why := execRejectionReason(r); why != "" {
			respond.WriteText(w, http.StatusForbidden, why+"\n")
			return
		}
		if runner == nil {
			respond.WriteText(w, http.StatusForbidden, "this node does not run commands; its operator can allow it\n")
			return
		}
		command := r.URL.Query()["command"]
		if len(command) == 0 {
			respond.WriteText(w, http.StatusBadRequest, "the command is missing: pass its words as ?command=ls&command=-l\n")
			return
		}
		var code int32
		complete := commands.streamFromContainer(w, r, false, func(id string, s io.Writer) (err error) {
			out := &sharedWriter{w: s}
			code, err = runner.ExecStream(r.Context(), runtime.ExecStreamRequest{ContainerID: id, Command: command}, runtime.Streams{Stdout: out, Stderr: out})
			return err
		})
		if complete {
			w.Header().Set(ExitCodeTrailer, strconv.Itoa(int(code)))
		}
	}
}

// sharedWriter writes two streams to one writer.
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

// execRejectionReason returns why a request for /exec is rejected, or "". It accepts only requests to and from
// a loopback address or over a Unix socket, and none from a browser page or a proxy. A page in a browser cannot
// remove the Origin header, and its Host is the name that the page has requested.
func execRejectionReason(r *http.Request) string {
	switch {
	case !isLocalPeer(r):
		return "commands run only for clients on this machine that use its loopback address"
	case !isLoopback(hostWithoutPort(r.Host)):
		return "commands run only for requests to a loopback address, not to a name"
	case r.Header.Get("Origin") != "", r.Header.Get("Sec-Fetch-Site") != "":
		return "commands do not run for pages in a browser"
	case isForwarded(r.Header):
		return "commands do not run for a proxy: its clients may be on other machines"
	}
	return ""
}

// isForwarded reports whether the header shows that a proxy has sent the request for another client. A proxy on
// this machine connects from a loopback address although its clients may be on other machines.
func isForwarded(h http.Header) bool {
	for name := range h {
		if forwardingHeaders[name] || slices.ContainsFunc(forwardingPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			return true
		}
	}
	return false
}

// forwardingPrefixes are prefixes of header names that proxies add.
var forwardingPrefixes = []string{"Forwarded", "X-Forwarded", "X-Original-", "X-Originating-", "X-Envoy-"}

// forwardingHeaders are other headers that proxies add to the requests of their clients, in canonical
// form.
var forwardingHeaders = map[string]bool{
	"Via": true, "X-Real-Ip": true, "X-Client-Ip": true, "X-Cluster-Client-Ip": true, "Client-Ip": true,
	"True-Client-Ip": true, "Cf-Connecting-Ip": true, "Fastly-Client-Ip": true, "X-Remote-Addr": true, "X-Remote-Ip": true,
	"X-Host": true, "X-Proxyuser-Ip": true, "Cdn-Loop": true,
}

// isLocalPeer reports whether the client uses a loopback address or a Unix socket.
func isLocalPeer(r *http.Request) bool {
	return isUnixSocket(r) || isLoopback(hostWithoutPort(r.RemoteAddr))
}

// hostWithoutPort returns the host of an address, without its port and without brackets. The address may have
// no port.
func hostWithoutPort(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// isLoopback reports whether a host is "localhost" or a loopback IP address.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
