//go:build !race

package proportion

const underRaceDetector = false
