// Package figure draws the figures of the documentation as SVG files. Tests make the figures from the code
// that they show, and compare them with the files in this directory. A test fails if its figure differs.
// With -rewrite it writes the file:
//
//	go test ./internal/figure -run Figure -rewrite             crashloop.svg, flow.svg
//	go test ./examples/agent -run Figure -rewrite              agent.svg
//	go test ./podworkers/lifecycle -run Figure -rewrite        stages.svg
//
// Each figure has a solid background, so it is readable on light and dark pages. Its text is escaped. The
// same calls make the same bytes.
package figure
