import CommandLineKit
import Glibc

let status = await Program.dormouse.run(
    Array(CommandLine.arguments.dropFirst()),
    console: .standard()
)
exit(status.rawValue)
