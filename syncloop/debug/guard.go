package debug

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// drainPeriod is how long the server reads the body of a rejected request before it closes the
// connection.
const drainPeriod = time.Second

// rejectBrowserRequestsAndBodies returns a handler that passes requests to next. It responds with 403 to a
// request that a page in a browser may have sent, and with 413 to a request with a body, whose connection it
// also closes.
func rejectBrowserRequestsAndBodies(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := browserRequestReason(hosts, r); why != "" {
			respond.WriteText(w, http.StatusForbidden, why+"\n")
			return
		}
		if r.ContentLength != 0 {
			// The server reads the rest of the body before the next request.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainPeriod)) // Not every server supports it.
			w.Header().Set("Connection", "close")
			respond.WriteText(w, http.StatusRequestEntityTooLarge, "a request to this handler must not have a body\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// browserRequestReason returns why a request may come from a page in a browser, or "" if it cannot. It returns a
// reason if the request has an Origin header, or a Sec-Fetch-Site header other than "none". A page cannot remove
// these headers. It also returns a reason if the Host header is not an allowed name. A page can point its own host
// name to this machine. The browser then omits both headers, but sends that name as Host.
func browserRequestReason(hosts []string, r *http.Request) string {
	switch site := r.Header.Values("Sec-Fetch-Site"); {
	case len(r.Header.Values("Origin")) > 0, len(site) > 0 && !slices.Equal(site, []string{"none"}):
		return "requests of pages in a browser are rejected"
	case !isAllowedHost(hosts, r):
		return fmt.Sprintf("this host is not %.100q: use an IP address or localhost", hostWithoutPort(r.Host))
	}
	return ""
}

// isAllowedHost reports whether the request's Host is empty, localhost, an IP address or one of hosts, in any
// case. It allows every Host over a Unix socket, which a browser cannot use.
func isAllowedHost(hosts []string, r *http.Request) bool {
	host := strings.ToLower(strings.TrimSuffix(hostWithoutPort(r.Host), "."))
	if host == "" || host == "localhost" || isUnixSocket(r) {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return slices.ContainsFunc(hosts, func(known string) bool { return strings.EqualFold(known, host) })
}

// isUnixSocket reports whether the request came over a Unix socket.
func isUnixSocket(r *http.Request) bool {
	here, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && here.Network() == "unix"
}

const (
	// maxLogReaders limits how many logs are read at once.
	maxLogReaders = 64
	// maxCommands limits how many commands run at once.
	maxCommands = 16
)
