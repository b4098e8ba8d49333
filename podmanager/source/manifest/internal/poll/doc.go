// Package poll decides, for a document that is fetched from a server again and again, what an
// answer means and when the next request is due. It reads no clock and makes no request.
package poll
