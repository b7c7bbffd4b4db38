import CommandLineKit
import Glibc

Console.fillStandardDescriptors()
let status = MainThread.shared.run {
    await Program.dormouse.run(
        Array(CommandLine.arguments.dropFirst()),
        console: .standard()
    )
}
exit(status.rawValue)
