package client

import "time"

// FilesDue has the next call read the files of the certificate.
func (c *Client) FilesDue() {
	for _, over := range []*connections{c.calls, c.heartbeat} {
		over.files.mu.Lock()
		over.files.at = time.Time{}
		over.files.mu.Unlock()
	}
}
