package backoff

import "time"

// The kubelet's numbers, which a zero ImagePull uses.
const (
	// DefaultImagePullInitial is the delay after the first failure.
	DefaultImagePullInitial = 10 * time.Second
	// DefaultImagePullMax is the longest delay.
	DefaultImagePullMax = 300 * time.Second
	// DefaultImagePullReset is how long a failure counts for the next one.
	DefaultImagePullReset = 600 * time.Second
)

// ImagePull says how long after its last failure a pull may be tried again: 10,
// 20, 40, 80, 160, 300, 300 ... seconds by default. A field of zero or less has its
// default.
type ImagePull struct {
	// Initial is the delay after the first failure. Default DefaultImagePullInitial, at
	// most Max.
	Initial time.Duration
	// Max is what the delay doubles up to. Default DefaultImagePullMax.
	Max time.Duration
	// Reset is how long after the last failure the sequence begins again. Default
	// DefaultImagePullReset, whatever Max is.
	Reset time.Duration
}

// Remaining is how long a pull must still wait at now; zero if it may be tried.
func (p ImagePull) Remaining(s State, now time.Time) time.Duration {
	return p.rule().Remaining(s, now)
}

// Failed is the state after a pull that failed at now. After one that succeeded the caller
// keeps a zero State, or lets the old one lapse.
func (p ImagePull) Failed(s State, now time.Time) State { return p.rule().Failed(s, now) }

func (p ImagePull) rule() Exponential {
	return Exponential{
		Initial: orDefault(p.Initial, DefaultImagePullInitial),
		Max:     orDefault(p.Max, DefaultImagePullMax),
		Reset:   orDefault(p.Reset, DefaultImagePullReset),
	}
}
