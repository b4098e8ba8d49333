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

// drainPeriod is how long the rest of a request that was refused because of its
// body may take to come, before the connection is closed.
const drainPeriod = time.Second

// rejectUnsafeRequests refuses what a page in a browser could send, and every request with a
// body, before any route sees it. It is around the whole mux, so that no route
// can be without it.
func rejectUnsafeRequests(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := browserRequestReason(hosts, r); why != "" {
			respond.WriteText(w, http.StatusForbidden, why+"\n")
			return
		}
		if r.ContentLength != 0 {
			// The server reads the rest before it takes the next request.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainPeriod)) // Not every server can.
			w.Header().Set("Connection", "close")
			respond.WriteText(w, http.StatusRequestEntityTooLarge, "a request has no body here\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// browserRequestReason says why a request could be that of a page in a browser, if it could.
// Such a page cannot leave out Origin and Sec-Fetch-Site where the browser sends
// them. Where it does not, because the page has made a name of its own lead to
// this machine, Host is that name.
func browserRequestReason(hosts []string, r *http.Request) string {
	switch site := r.Header.Values("Sec-Fetch-Site"); {
	case len(r.Header.Values("Origin")) > 0, len(site) > 0 && !slices.Equal(site, []string{"none"}):
		return "pages in a browser get no answer"
	case !isAllowedHost(hosts, r):
		return fmt.Sprintf("this is not %.100q: ask for an IP address or localhost", hostWithoutPort(r.Host))
	}
	return ""
}

// isAllowedHost: the request asks for an address, or for a name that is allowed. A
// request without Host does not come from a browser, and one over a socket in the
// file system does not either.
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

// isUnixSocket: the peer is on a socket in the file system.
func isUnixSocket(r *http.Request) bool {
	here, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && here.Network() == "unix"
}

const (
	// maxLogReaders is how many logs are read at once.
	maxLogReaders = 64
	// maxCommands is how many commands run at once.
	maxCommands = 16
)
