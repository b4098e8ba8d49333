// Shown is a program that says what it shows.
package main

func main() {}
